"""The resources of the catalogue: one class per thing, its ACL beside it."""

from abc import ABC, abstractmethod
from functools import cached_property

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from zope.interface import implementer, implementer_only

from modhub.credentials import MACHINE
from modhub.identity import CorePermission, Credential, Permission
from modhub.interfaces import (
    IAsset,
    ICatalogue,
    IFiles,
    IGameIcon,
    IGameIcons,
    IImages,
    IMine,
    IMod,
    INote,
    INotes,
    IOwnMod,
    IVotes,
)
from modhub.tree import Acl, Resource, parse_id


class ModPermission(Permission):
    """What may be done in the catalogue; all of it by an account."""

    CREATE = "mod:create", Credential.ACCOUNT
    LIST_MINE = "mod:list-mine", Credential.ACCOUNT
    EDIT = "mod:edit", Credential.ACCOUNT
    VOTE = "mod:vote", Credential.ACCOUNT


@implementer(ICatalogue)
class Catalogue(Resource):
    """``/api/modhub``"""

    __acl__ = [
        (Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE)),
        (Allow, MACHINE, CorePermission.KEY_TEST),
    ]

    def member(self, name: str) -> "Mod":
        """The mod with this id, whether it is there or not."""
        return Mod(self, name)


@implementer(IMod)
class Mod(Resource):
    """A mod, under whatever address. Its owner is looked up when an ACL first asks; public reads never ask."""

    @property
    def id(self) -> int | None:
        """The mod's number; None for an address that is not a number."""
        return parse_id(self.__name__)

    @cached_property
    def owner(self) -> int | None:
        """The account that owns it, None when there is no such mod."""
        found: int | None = self.request.registry.catalogue.owner(self.id)
        return found

    @property
    def exists(self) -> bool:
        """Whether there is such a mod, published or not; asked only behind the ACL."""
        return self.owner is not None

    def __acl__(self) -> Acl:
        """For the owner alone. Absent mods have no owner: nobody passes."""
        return [] if self.owner is None else [(Allow, f"account:{self.owner}", ModPermission.EDIT)]


class Part(Resource):
    """A thing of a mod. Whether it is there is for the service to find out, together with the mod's row."""

    @property
    def mod(self) -> Mod:
        """The mod that it belongs to."""
        found = self.__parent__
        while not isinstance(found, Mod):
            assert found is not None
            found = found.__parent__
        return found

    @property
    def id(self) -> int | None:
        """Its number; None for an address that is not a number."""
        return parse_id(self.__name__)


class Member(Part, ABC):
    """A thing of a mod that has a number of its own.

    Its ACL asks for mod and thing in one statement, so that an absent one, one of another mod and one of a mod that is
    not the caller's are the same to everybody, before a byte of the body is looked at (decisions 1.7).
    """

    @abstractmethod
    def owner_of(self, mod_id: int | None, member_id: int | None) -> int | None:
        """The account that owns the mod, if this thing is in it."""

    def __acl__(self) -> Acl:
        """For the owner alone; what stands above, the mod's own ACL, does not know of this thing."""
        owner = self.owner_of(self.mod.id, self.id)
        return [DENY_ALL] if owner is None else [(Allow, f"account:{owner}", ModPermission.EDIT), DENY_ALL]


@implementer(IVotes)
class Votes(Part):
    """``/api/modhub/{id}/vote``: of a published mod; a draft has none, as an absent mod has none."""

    __acl__ = [(Allow, Authenticated, ModPermission.VOTE), DENY_ALL]

    @property
    def exists(self) -> bool:
        """Whether the mod is published."""
        return self.request.registry.catalogue.votes(self.mod.id) is not None


@implementer(INotes)
class Notes(Part):
    """``/api/modhub/{id}/changelog``"""

    def member(self, name: str) -> "Note":
        """The entry with this id."""
        return Note(self, name)


@implementer(INote)
class Note(Member):
    """``/api/modhub/{id}/changelog/{noteId}``"""

    def owner_of(self, mod_id: int | None, member_id: int | None) -> int | None:
        """By the entry's row."""
        found: int | None = self.request.registry.catalogue.note_owner(mod_id, member_id)
        return found


@implementer(IImages)
class Images(Part):
    """``/api/modhub/{id}/images``"""

    def member(self, name: str) -> "Image":
        """The image with this asset id."""
        return Image(self, name)


@implementer(IAsset)
class Image(Member):
    """``/api/modhub/{id}/images/{assetId}``"""

    def owner_of(self, mod_id: int | None, member_id: int | None) -> int | None:
        """By the asset's row; code and css are no images."""
        found: int | None = self.request.registry.catalogue.image_owner(mod_id, member_id)
        return found


@implementer(IFiles)
class Files(Resource):
    """``/Modhub/file``"""

    def member(self, name: str) -> "File":
        """The file with this asset id."""
        return File(self, name)


@implementer(IAsset)
class File(Resource):
    """``/Modhub/file/{assetId}``"""

    @property
    def id(self) -> int | None:
        """The asset's number."""
        return parse_id(self.__name__)


@implementer(IGameIcons)
class GameIcons(Resource):
    """``/Modhub/game-icon``"""

    def member(self, name: str) -> "Icon":
        """The icon with this id."""
        return Icon(self, name)


@implementer(IGameIcon)
class Icon(File):
    """``/Modhub/game-icon/{iconId}``"""


@implementer_only(IOwnMod)
class OwnMod(Mod):
    """``/Modhub/mine/{id}``: the same mod as its owner's, with views and children of its own alone."""


@implementer(IMine)
class Mine(Resource):
    """``/Modhub/mine``: the same mods as their owner's."""

    __acl__ = [(Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE))]

    def member(self, name: str) -> OwnMod:
        """The mod with this id."""
        return OwnMod(self, name)
