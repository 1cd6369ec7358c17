"""``/Modhub/moderation/scans``: what the scanner found, for moderators."""

from typing import Any, Final

from zope.interface import implementer

from modhub.base.service_registry import find_optional_service
from modhub.plugins.resources import IResource
from modhub.plugins.services import IProfiles
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub.web.views import page
from modhub_moderation.moderators import ModerationPermission
from modhub_moderation.scanning import services

HITS_SHOWN: Final = 100


class IScans(IResource):
    """``/Modhub/moderation/scans``"""


@implementer(IScans)
class ScansResource(Resource):
    """``/Modhub/moderation/scans``: of moderators, as all below their desk."""


@page(
    context=IScans,
    request_method="GET",
    permission=ModerationPermission.DECIDE,
    renderer="modhub_moderation:templates/scanning/scans.jinja2",
)
def scans_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/scans``: the last files in which something was found, with the rule."""
    with request.databases.readonly_session() as session:
        hits = services.list_hits(session, HITS_SHOWN)
    profiles = find_optional_service(request.registry, IProfiles)
    accounts = {hit.account_id for hit in hits if hit.account_id is not None}
    return {"hits": hits, "names": {} if profiles is None else profiles.get_profiles(accounts)}
