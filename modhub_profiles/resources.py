"""The resources of links and profiles, and their ACLs."""

from functools import cached_property
from typing import Any

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.identity import CredentialKind, KeyUse, Permission
from modhub.plugins.resources import IResource
from modhub.plugins.services import IMods
from modhub.web.traversal import OwnedResource, Resource


class IModLinks(IResource):
    """``/api/modhub/{id}/links``"""


class IOwnLinks(IResource):
    """``/Modhub/mine/{id}/links``: the form in the workshop."""


class IAuthorPicture(IResource):
    """``/Modhub/by/{accountId}/picture/{name}``"""


class IProfile(IResource):
    """``/Modhub/profile``: what an account says about itself."""


class ProfilePermission(Permission):
    """What an account may do here. Links are part of a release, so publisher keys may set them; a profile is not."""

    LINKS = "profiles:links", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD
    PROFILE = "profiles:profile", CredentialKind.ACCOUNT


@implementer(IModLinks)
class LinksResource(OwnedResource):
    """``/api/modhub/{id}/links``: read by everybody while the mod is public, changed by its owner."""

    __parent__: Any
    owner_permissions = (ProfilePermission.LINKS,)

    @property
    def mod_id(self) -> int | None:
        """The mod; None if the path segment is not a number."""
        mod_id: int | None = self.__parent__.id
        return mod_id

    def find_owner(self, session: Session) -> int | None:
        """The owner of the mod, published or not."""
        mods = self.request.find_service(IMods).get_mods(session, [self.mod_id or 0])
        return next((mod.owner for mod in mods.values()), None)


@implementer(IOwnLinks)
class OwnLinksResource(LinksResource):
    """``/Modhub/mine/{id}/links``"""


@implementer(IProfile)
class ProfileResource(Resource):
    """``/Modhub/profile``"""

    __acl__ = [(Allow, Authenticated, ProfilePermission.PROFILE), DENY_ALL]


class AuthorPicturesResource(Resource):
    """``/Modhub/by/{accountId}/picture``"""

    def get_member(self, name: str) -> "AuthorPictureResource":
        """Return the picture of this name, whether or not there is one."""
        return AuthorPictureResource(self, name)


@implementer(IAuthorPicture)
class AuthorPictureResource(Resource):
    """``/Modhub/by/{accountId}/picture/{name}``"""

    @cached_property
    def author(self) -> Any:
        """The author whose picture it is (:class:`modhub.plugins.resources.IAuthor`)."""
        assert self.__parent__ is not None
        return self.__parent__.__parent__
