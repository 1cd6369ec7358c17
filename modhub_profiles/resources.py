"""The resources of links and profiles, and their ACLs."""

from functools import cached_property
from typing import Any

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from zope.interface import implementer

from modhub.base.identity import CredentialKind, KeyUse, Permission
from modhub.plugins.resources import IResource
from modhub.web.traversal import OwnModChild, Resource


class IModLinks(IResource):
    """``/api/modhub/{id}/links``"""


class IAuthorPicture(IResource):
    """``/Modhub/by/{accountId}/picture/{name}``"""


class IProfile(IResource):
    """``/Modhub/profile``: what an account says about itself."""


class ProfilePermission(Permission):
    """What an account may do here. Links are part of a release, so publisher keys may set them; a profile is not."""

    LINKS = "profiles:links", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD
    PROFILE = "profiles:profile", CredentialKind.ACCOUNT


@implementer(IModLinks)
class LinksResource(OwnModChild):
    """``/api/modhub/{id}/links``: read by everybody while the mod is public, changed by its owner."""

    owner_permissions = (ProfilePermission.LINKS,)


@implementer(IProfile)
class ProfileResource(Resource):
    """``/Modhub/profile``"""

    __acl__ = [(Allow, Authenticated, ProfilePermission.PROFILE), DENY_ALL]


@implementer(IAuthorPicture)
class AuthorPictureResource(Resource):
    """``/Modhub/by/{accountId}/picture/{name}``"""

    @cached_property
    def author(self) -> Any:
        """The author whose picture it is (:class:`modhub.plugins.resources.IAuthor`)."""
        assert self.__parent__ is not None
        return self.__parent__.__parent__


class AuthorPicturesResource(Resource):
    """``/Modhub/by/{accountId}/picture``"""

    member = AuthorPictureResource
