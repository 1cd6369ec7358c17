"""The resources of a mod's tags: everybody reads those of a published mod, its owner changes them."""

from typing import Any

from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.identity import CredentialKind, KeyUse, Permission
from modhub.plugins.resources import IResource
from modhub.plugins.services import IMods, ModSummary
from modhub.web.traversal import OwnedResource


class ITags(IResource):
    """``/api/modhub/{id}/tags``"""


class IOwnTags(IResource):
    """``/Modhub/mine/{id}/tags``"""


class TagPermission(Permission):
    """What the owner of a mod may do here."""

    EDIT = "tags:edit", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD


class ModTagsResource(OwnedResource):
    """The tags of the mod above it."""

    __parent__: Any
    owner_permissions = (TagPermission.EDIT,)

    @property
    def mod_id(self) -> int | None:
        """The id of the mod; None if the path segment is not a number."""
        mod_id: int | None = self.__parent__.id
        return mod_id

    def find_mod(self, session: Session) -> ModSummary | None:
        """The mod, published or not."""
        mod_id = self.mod_id or 0
        return self.request.find_service(IMods).get_mods(session, [mod_id]).get(mod_id)

    def find_owner(self, session: Session) -> int | None:
        """The owner of the mod."""
        mod = self.find_mod(session)
        return None if mod is None else mod.owner


@implementer(ITags)
class TagsResource(ModTagsResource):
    """``/api/modhub/{id}/tags``"""


@implementer(IOwnTags)
class OwnTagsResource(ModTagsResource):
    """``/Modhub/mine/{id}/tags``"""
