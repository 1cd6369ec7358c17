"""The resource of a mod's downloads: open to everybody, and there only while the mod is."""

from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.plugins.resources import IResource
from modhub.plugins.services import IMods, ModSummary
from modhub.web.traversal import Resource


class IDownloads(IResource):
    """``/api/modhub/{id}/downloads``"""


@implementer(IDownloads)
class DownloadsResource(Resource):
    """``/api/modhub/{id}/downloads``"""

    def find_mod(self, session: Session) -> ModSummary | None:
        """The mod, if everybody sees it."""
        mod_id: int = getattr(self.__parent__, "id", None) or 0
        mods = self.request.find_service(IMods).get_mods(session, [mod_id])
        return next((mod for mod in mods.values() if mod.published), None)

    def check_exists(self, session: Session) -> bool:
        """Whether everybody sees the mod."""
        return self.find_mod(session) is not None
