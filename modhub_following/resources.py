"""The resources of following, and their ACLs."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.plugins.resources import IResource
from modhub.plugins.services import IMods
from modhub.web.payload import query
from modhub.web.traversal import Resource
from modhub_following.models import TargetKind
from modhub_following.services import Target


class IFollowing(IResource):
    """``/Modhub/following``"""


class IFollowTarget(IResource):
    """Where a mod, an author or a game is followed, such as ``/Modhub/{id}/follow``"""


class FollowPermission(Permission):
    """What an account may do here."""

    FOLLOW = "following:change", CredentialKind.ACCOUNT


@implementer(IFollowing)
class FollowingResource(Resource):
    """``/Modhub/following``"""

    __acl__ = [(Allow, Authenticated, FollowPermission.FOLLOW), DENY_ALL]


@implementer(IFollowTarget)
class FollowTarget(Resource, ABC):
    """Where something is followed."""

    __acl__ = [(Allow, Authenticated, FollowPermission.FOLLOW), DENY_ALL]
    __parent__: Any

    @property
    @abstractmethod
    def address(self) -> str:
        """The page of what is followed."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """What is followed, as it is stored."""


class ModFollow(FollowTarget):
    """``/Modhub/{id}/follow``"""

    def check_exists(self, session: Session) -> bool:
        """Whether the mod is published and not hidden."""
        mods = self.request.find_service(IMods).get_mods(session, [self.__parent__.id or 0])
        return any(mod.published for mod in mods.values())

    @property
    def address(self) -> str:
        """The mod's page."""
        return f"/Modhub/{self.__parent__.id}"

    @property
    def target(self) -> Target:
        """The mod, as a thing to follow."""
        return Target(TargetKind.MOD, str(self.__parent__.id))


class AuthorFollow(FollowTarget):
    """``/Modhub/by/{accountId}/follow``"""

    def check_exists(self, session: Session) -> bool:
        """Whether the account has a published mod."""
        return bool(self.__parent__.check_exists(session))

    @property
    def address(self) -> str:
        """The author's page."""
        return f"/Modhub/by/{self.__parent__.id}"

    @property
    def target(self) -> Target:
        """The author, as somebody to follow."""
        return Target(TargetKind.AUTHOR, str(self.__parent__.id))


class GameFollow(FollowTarget):
    """``/Modhub/following/game?game=…``"""

    @cached_property
    def name(self) -> str:
        """The name of the game in the query, as on browse."""
        return text.line(query(self.request, "game") or "", limits.GAME)

    def check_exists(self, session: Session) -> bool:  # noqa: ARG002 - the base's signature
        """Whether a game is named."""
        return bool(fold_game(self.name))

    @property
    def address(self) -> str:
        """The list of its mods."""
        return game_address(self.name)

    @property
    def target(self) -> Target:
        """The game, as a thing to follow."""
        return Target(TargetKind.GAME, fold_game(self.name), self.name)


def game_address(name: str) -> str:
    """The list of the mods of a game."""
    return "/Modhub?" + urlencode({"game": name})
