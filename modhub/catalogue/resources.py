"""The resources of the catalogue and their ACLs."""

from functools import cached_property

from pyramid.authorization import DENY_ALL, Allow, Authenticated
from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from zope.interface import implementer, implementer_only

from modhub.base.identity import CorePermission, CredentialKind, KeyUse, Permission
from modhub.base.operations import Parameter
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.models import IS_IMAGE, Asset, Mod, Note, PublicMod
from modhub.plugins.resources import (
    IApiAuthor,
    IAsset,
    IAuthor,
    ICatalogue,
    IImages,
    IMine,
    IMod,
    INote,
    INotes,
    IOwnMod,
    IVotes,
)
from modhub.plugins.security import MACHINE_KEY_REALM
from modhub.plugins.services import IProfiles, ModSelection, Profile
from modhub.web.traversal import OwnedResource, Resource

_NO_ID = -1
"""In place of a malformed id: the statement runs for it, too, so that timing reveals nothing (T-B3)."""


class ModPermission(Permission):
    """Permissions in the catalogue; all require an account."""

    CREATE = "mod:create", CredentialKind.ACCOUNT, False, KeyUse.ALL_MODS
    LIST_MINE = "mod:list-mine", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD
    EDIT = "mod:edit", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD
    DELETE = "mod:delete", CredentialKind.ACCOUNT
    VOTE = "mod:vote", CredentialKind.ACCOUNT


@implementer(IMod)
class ModResource(OwnedResource):
    """A mod, in the API and on the site. Its owner is looked up when an ACL needs it; public reads do not."""

    segment = Parameter("id", "The number of the mod.", int)

    owner_permissions = (ModPermission.EDIT, ModPermission.DELETE)

    def find_owner(self, session: Session) -> int | None:
        """Return the owner of the mod, published or not."""
        return session.scalar(_owner_of(self))


@implementer(ICatalogue)
class CatalogueResource(Resource):
    """``/api/modhub``"""

    __acl__ = [
        (Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE)),
        (Allow, MACHINE_KEY_REALM, CorePermission.KEY_TEST),
    ]

    member = ModResource


@implementer(IAuthor)
class AuthorResource(Resource):
    """``/Modhub/by/{accountId}``: exists only for the author of a published mod."""

    @property
    def selection(self) -> ModSelection:
        """The author's mods."""
        return ModSelection(authors=() if self.id is None else (self.id,))

    @cached_property
    def profile(self) -> Profile | None:
        """The name of the author; None without accounts, and for an account that was deleted."""
        profiles = find_optional_service(self.request.registry, IProfiles)
        return None if profiles is None or self.id is None else profiles.get_profiles({self.id}).get(self.id)

    def check_exists(self, session: Session) -> bool:
        """Whether the account has a published mod."""
        published = select(PublicMod.id).where(PublicMod.owner == _known(self.id)).limit(1)
        return session.scalar(published) is not None and self.profile is not None


class AuthorsResource(Resource):
    """``/Modhub/by``"""

    member = AuthorResource


@implementer(IApiAuthor)
class ApiAuthorResource(Resource):
    """``/api/modhub/authors/{accountId}``: has no view of its own."""

    segment = Parameter("accountId", "The number of the author's account.", int)


class ApiAuthorsResource(Resource):
    """``/api/modhub/authors``"""

    member = ApiAuthorResource


class ModChild(Resource):
    """A child of a mod. The service checks whether it exists, together with the mod's row."""

    @property
    def mod(self) -> ModResource:
        """The mod that it belongs to."""
        ancestor = self.__parent__
        while not isinstance(ancestor, ModResource):
            assert ancestor is not None
            ancestor = ancestor.__parent__
        return ancestor


class OwnedChild(ModChild, OwnedResource):
    """A child of a mod with an id of its own.

    Its ACL looks up mod and child in one statement. A child that is absent, of another mod, or of somebody else's mod
    gets the same response, before the body is read (C-OWN-12).
    """

    owner_permissions = (ModPermission.EDIT,)


@implementer(IVotes)
class VotesResource(ModChild):
    """``/api/modhub/{id}/vote``: exists only for published mods."""

    __acl__ = [(Allow, Authenticated, ModPermission.VOTE), DENY_ALL]

    def check_exists(self, session: Session) -> bool:
        """Whether the mod is published."""
        return session.scalar(select(PublicMod.id).where(PublicMod.id == _known(self.mod.id))) is not None


@implementer(INote)
class NoteResource(OwnedChild):
    """``/api/modhub/{id}/changelog/{noteId}``"""

    segment = Parameter("noteId", "The number of the entry.", int)

    def find_owner(self, session: Session) -> int | None:
        """Return the owner of the mod if it has this entry."""
        return session.scalar(_owner_of(self.mod).join(Note, Note.mod_id == Mod.id).where(Note.id == _known(self.id)))


@implementer(INotes)
class NotesResource(ModChild):
    """``/api/modhub/{id}/changelog``"""

    member = NoteResource


@implementer(IAsset)
class ImageResource(OwnedChild):
    """``/api/modhub/{id}/images/{assetId}``"""

    segment = Parameter("assetId", "The number of the image.", int)

    def find_owner(self, session: Session) -> int | None:
        """Return the owner of the mod if it has this image; code and css do not count."""
        is_image = Asset.id == _known(self.id), IS_IMAGE
        return session.scalar(_owner_of(self.mod).join(Asset, Asset.mod_id == Mod.id).where(*is_image))


@implementer(IImages)
class ImagesResource(ModChild):
    """``/api/modhub/{id}/images``"""

    member = ImageResource


@implementer_only(IOwnMod)
class OwnModResource(ModResource):
    """``/Modhub/mine/{id}``: a mod in the workshop, with its own views and children only."""


@implementer(IMine)
class MineResource(Resource):
    """``/Modhub/mine``: the workshop."""

    __acl__ = [(Allow, Authenticated, (ModPermission.CREATE, ModPermission.LIST_MINE))]

    member = OwnModResource


def _owner_of(mod: ModResource) -> Select[int]:
    return select(Mod.owner).where(Mod.id == _known(mod.id))


def _known(number: int | None) -> int:
    return _NO_ID if number is None else number
