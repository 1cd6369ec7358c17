"""All that a feature may rely on: the resources of the tree, the services and credentials of the core."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from zope.interface import Attribute, Interface

from modhub.blobs.store import BlobStore

__all__ = [
    "AccountMod",
    "BlobStore",
    "IAccounts",
    "IApi",
    "IAsset",
    "ICatalogue",
    "ICredential",
    "IDemoAccounts",
    "IGameIcon",
    "IMine",
    "IMod",
    "IMods",
    "INote",
    "IOwnMod",
    "IProfiles",
    "IRoot",
    "ISite",
    "IStorageAddress",
    "ModSummary",
    "Profile",
]


class IResource(Interface):
    """A node of the tree. ``exists`` says whether there is anything behind it (see :mod:`modhub.traversal`)."""

    exists = Attribute("False if nothing is at the address; the owner's views then return 404, after the ACL.")


class IRoot(IResource):
    """``/``"""


class IApi(IResource):
    """The API: ``/api`` and ``/Modhub/api``. JSON answers, no cookies."""


class ISite(IResource):
    """The site: ``/Modhub``. Rendered pages, no bearer tokens."""


class ICatalogue(IResource):
    """``/api/modhub``: the mods."""


class IMod(IResource):
    """One mod, wherever it is mounted. ``id`` is None if the address is not a number."""

    id = Attribute("The mod's number or None.")
    owner = Attribute("The account id of its owner, None when there is no such mod.")


class INotes(IResource):
    """``/api/modhub/{id}/changelog``"""


class INote(IResource):
    """One changelog entry of a mod."""


class IVotes(IResource):
    """``/api/modhub/{id}/vote``"""


class IImages(IResource):
    """``/api/modhub/{id}/images``"""


class IAsset(IResource):
    """One file of a mod."""


class IFiles(IResource):
    """``/Modhub/file``"""


class IOwnMod(IResource):
    """One mod in its owner's workshop: ``/Modhub/mine/{id}``. Children of `IMod` are not available here."""

    id = Attribute("The mod's number or None.")
    owner = Attribute("The account id of its owner, None when there is no such mod.")


class IMine(IResource):
    """``/Modhub/mine``: the owner's workshop."""


class IGameIcons(IResource):
    """``/Modhub/game-icon``"""


class IGameIcon(IResource):
    """``/Modhub/game-icon/{iconId}``"""


class ICredential(Interface):
    """How a kind of caller is recognised on the API or on the site; registered with ``config.add_credential``."""

    def identify(request: Any) -> "Any | None":  # noqa: N805 - zope interfaces have no self
        """The :class:`modhub.security.identity.Identity` of the caller, None if nothing valid was presented."""

    def challenge(request: Any) -> Any:  # noqa: N805
        """The error or response for a caller without permission."""


class IStorageAddress(Protocol):
    """The service for the address that the file-storage machine reported (C-ADDR-3)."""

    def current(self) -> str | None:
        """``https://host[:port]``, at most 5 seconds old; None before the first report."""


class ModSummary(NamedTuple):
    """What features can learn about a mod."""

    id: int
    guid: str
    title: str
    owner: int
    """The account that owns it."""
    published: bool
    """Whether everybody sees it: published by its owner, and not hidden by an operator."""


class AccountMod(NamedTuple):
    """A mod that is deleted with its owner's account."""

    title: str
    published: bool
    """Whether its owner has published it, even if hidden."""
    hidden: bool
    dependents: int
    """Other people's published mods that require it."""


class IMods(Protocol):
    """The service for mods. ``session`` is the request's or an event's; its own changes are visible."""

    def get_mods(self, session: Any, mod_ids: Collection[int]) -> dict[int, ModSummary]:
        """Those of at most 100 mods that exist, published or not, in one statement.

        Any number may be asked for, also one that no column can hold.
        """

    def lock(self, session: Any, mod_id: int) -> bool:
        """Keep the mod from being deleted until the transaction ends; False if it does not exist.

        Drafts and hidden mods exist: ``get_mods`` says whether everybody can see a mod.
        """

    def get_mods_of_account(self, session: Any, account_id: int) -> list[AccountMod]:
        """All mods of an account, last changed first."""


class Profile(NamedTuple):
    """The public name of an account, and when it was created."""

    name: str
    since: datetime


class IProfiles(Protocol):
    """The service for public profiles of accounts; absent if no feature provides accounts."""

    def get_profiles(self, account_ids: set[int]) -> dict[int, Profile]:
        """Those of at most 100 accounts that exist, in one statement."""


class IAccounts(Protocol):
    """The service that knows which accounts exist; absent if no feature provides accounts."""

    def lock(self, session: Any, account_id: int) -> bool:
        """Keep the account from being deleted until the transaction ends; False if it has been deleted."""


class IDemoAccounts(Protocol):
    """The service that provides owners for the samples of ``modhub-admin demo``."""

    def account_for(self, session: Any, name: str) -> int:
        """The id of the sample account of this name, created if necessary; nobody can sign in to it."""
