"""The resources of the catalogue: one class per thing, its ACL beside it."""

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from zope.interface import implementer, implementer_only

from modhub.catalogue.read_service import CatalogueReader
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
from modhub.security.credentials import MACHINE_KEY_REALM
from modhub.security.identity import CorePermission, CredentialKind, Permission
from modhub.traversal import OwnedResource, Resource, parse_id


class ModPermission(Permission):
    """What may be done in the catalogue; all of it by an account."""

    CREATE = "mod:create", CredentialKind.ACCOUNT
    LIST_MINE = "mod:list-mine", CredentialKind.ACCOUNT
    EDIT = "mod:edit", CredentialKind.ACCOUNT
    VOTE = "mod:vote", CredentialKind.ACCOUNT


@implementer(ICatalogue)
class CatalogueResource(Resource):
    """``/api/modhub``"""

    __acl__ = [
        (Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE)),
        (Allow, MACHINE_KEY_REALM, CorePermission.KEY_TEST),
    ]

    def get_member(self, name: str) -> "ModResource":
        """The mod with this id, whether it is there or not."""
        return ModResource(self, name)


@implementer(IMod)
class ModResource(OwnedResource):
    """A mod, under whatever address. Its owner is looked up when an ACL first asks; public reads never ask."""

    owner_permissions = (ModPermission.EDIT,)

    @property
    def id(self) -> int | None:
        """The mod's number; None for an address that is not a number."""
        return parse_id(self.__name__)

    def find_owner(self) -> int | None:
        """By the mod's row, published or not."""
        return self.request.find_service(CatalogueReader).owner(self.id)


class ModChild(Resource):
    """A thing of a mod. Whether it is there is for the service to find out, together with the mod's row."""

    @property
    def mod(self) -> ModResource:
        """The mod that it belongs to."""
        found = self.__parent__
        while not isinstance(found, ModResource):
            assert found is not None
            found = found.__parent__
        return found

    @property
    def id(self) -> int | None:
        """Its number; None for an address that is not a number."""
        return parse_id(self.__name__)


class OwnedChild(ModChild, OwnedResource):
    """A thing of a mod that has a number of its own.

    Its ACL asks for mod and thing in one statement, so that an absent one, one of another mod and one of a mod that is
    not the caller's are the same to everybody, before a byte of the body is looked at (C-OWN-12).
    """

    owner_permissions = (ModPermission.EDIT,)


@implementer(IVotes)
class VotesResource(ModChild):
    """``/api/modhub/{id}/vote``: of a published mod; a draft has none, as an absent mod has none."""

    __acl__ = [(Allow, Authenticated, ModPermission.VOTE), DENY_ALL]

    @property
    def exists(self) -> bool:
        """Whether the mod is published."""
        return self.request.find_service(CatalogueReader).votes(self.mod.id) is not None


@implementer(INotes)
class NotesResource(ModChild):
    """``/api/modhub/{id}/changelog``"""

    def get_member(self, name: str) -> "NoteResource":
        """The entry with this id."""
        return NoteResource(self, name)


@implementer(INote)
class NoteResource(OwnedChild):
    """``/api/modhub/{id}/changelog/{noteId}``"""

    def find_owner(self) -> int | None:
        """By the entry's row."""
        return self.request.find_service(CatalogueReader).note_owner(self.mod.id, self.id)


@implementer(IImages)
class ImagesResource(ModChild):
    """``/api/modhub/{id}/images``"""

    def get_member(self, name: str) -> "ImageResource":
        """The image with this asset id."""
        return ImageResource(self, name)


@implementer(IAsset)
class ImageResource(OwnedChild):
    """``/api/modhub/{id}/images/{assetId}``"""

    def find_owner(self) -> int | None:
        """By the asset's row; code and css are no images."""
        return self.request.find_service(CatalogueReader).image_owner(self.mod.id, self.id)


@implementer(IFiles)
class FilesResource(Resource):
    """``/Modhub/file``"""

    def get_member(self, name: str) -> "FileResource":
        """The file with this asset id."""
        return FileResource(self, name)


@implementer(IAsset)
class FileResource(Resource):
    """``/Modhub/file/{assetId}``"""

    @property
    def id(self) -> int | None:
        """The asset's number."""
        return parse_id(self.__name__)


@implementer(IGameIcons)
class GameIconsResource(Resource):
    """``/Modhub/game-icon``"""

    def get_member(self, name: str) -> "GameIconResource":
        """The icon with this id."""
        return GameIconResource(self, name)


@implementer(IGameIcon)
class GameIconResource(FileResource):
    """``/Modhub/game-icon/{iconId}``"""


@implementer_only(IOwnMod)
class OwnModResource(ModResource):
    """``/Modhub/mine/{id}``: the same mod as its owner's, with views and children of its own alone."""


@implementer(IMine)
class MineResource(Resource):
    """``/Modhub/mine``: the same mods as their owner's."""

    __acl__ = [(Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE))]

    def get_member(self, name: str) -> OwnModResource:
        """The mod with this id."""
        return OwnModResource(self, name)
