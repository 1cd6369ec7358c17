"""All that a feature may rely on: the resources of the tree, the seams and the events of the core."""

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
    """A place in the tree. ``exists`` tells whether there is a thing behind it (see :mod:`modhub.traversal`)."""

    exists = Attribute("False when the address names nothing; the owner's views answer 404 then, after the ACL.")


class IRoot(IResource):
    """``/``"""


class IApi(IResource):
    """The API: ``/api`` and ``/Modhub/api``. JSON answers, no cookies."""


class ISite(IResource):
    """The site: ``/Modhub``. Rendered pages, no bearer tokens."""


class ICatalogue(IResource):
    """``/api/modhub``: the mods."""


class IMod(IResource):
    """One mod, wherever it is mounted. ``id`` is its number, None when the address is not a number."""

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
    """One mod in its owner's workshop: ``/Modhub/mine/{id}``. What is mounted below an `IMod` is not there."""

    id = Attribute("The mod's number or None.")
    owner = Attribute("The account id of its owner, None when there is no such mod.")


class IMine(IResource):
    """``/Modhub/mine``: the owner's workshop."""


class IGameIcons(IResource):
    """``/Modhub/game-icon``"""


class IGameIcon(IResource):
    """``/Modhub/game-icon/{iconId}``"""


class ICredential(Interface):
    """How a kind of caller is recognised on the API or on the site; given with ``config.add_credential``."""

    def identify(request: Any) -> "Any | None":  # noqa: N805 - zope interfaces have no self
        """The :class:`modhub.security.identity.Identity` of the caller, None when nothing valid was presented."""

    def challenge(request: Any) -> Any:  # noqa: N805
        """The refusal or response for a caller who may not do this."""


class IStorageAddress(Protocol):
    """The service for the address that the file-storage machine reported (C-ADDR-3)."""

    def current(self) -> str | None:
        """``https://host[:port]``, at most 5 seconds old; None before the first report."""


class ModSummary(NamedTuple):
    """What the core says of a mod to features."""

    id: int
    guid: str
    title: str
    owner: int
    """The account that owns it."""
    published: bool
    """Whether everybody sees it: its owner has published it, and no operator hides it."""


class AccountMod(NamedTuple):
    """A mod that goes with its owner's account."""

    title: str
    published: bool
    """Whether its owner has published it, hidden or not."""
    hidden: bool
    dependents: int
    """Published mods of others that require it."""


class IMods(Protocol):
    """The service that knows the mods. ``session`` is the request's or an event's, whose own changes are seen."""

    def get_mods(self, session: Any, mod_ids: Collection[int]) -> dict[int, ModSummary]:
        """Each of at most 100 mods that is there, published or not, in one statement whatever their number."""

    def lock(self, session: Any, mod_id: int) -> bool:
        """Keep the mod from being deleted until the transaction ends; False when there is no such mod."""

    def get_mods_of_account(self, session: Any, account_id: int) -> list[AccountMod]:
        """All mods of an account, most recently changed first."""


class Profile(NamedTuple):
    """Whom readers see behind an account number: a name, and when the account was made."""

    name: str
    since: datetime


class IProfiles(Protocol):
    """The service for the people behind account numbers; absent where no feature gives accounts."""

    def get_profiles(self, account_ids: set[int]) -> dict[int, Profile]:
        """Each of at most 100 accounts that is there, in one statement whatever their number."""


class IAccounts(Protocol):
    """The service that knows which accounts are there; absent where no feature gives accounts."""

    def lock(self, session: Any, account_id: int) -> bool:
        """Keep the account from being deleted until the transaction ends; False when it has been deleted."""


class IDemoAccounts(Protocol):
    """The service that gives ``modhub-admin demo`` people to own its samples."""

    def account_for(self, session: Any, name: str) -> int:
        """The number of the sample account of this name, made when it is not there; nobody can sign in to it."""
