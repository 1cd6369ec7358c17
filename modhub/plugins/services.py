"""The services of the core and of accounts, and the values that they return."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, Protocol

from markupsafe import Markup

from modhub.base.composed_body import ComposedBody


class ModSummary(NamedTuple):
    """What features can learn about a mod."""

    id: int
    guid: str
    title: str
    owner: int
    """The account that owns it."""
    published: bool
    """Whether everybody sees it: published by its owner, and not hidden by an operator."""
    version: str = ""
    """The version of its code file; empty before the first."""
    hidden: bool = False
    """Whether an operator hid it."""
    published_at: datetime | None = None
    """When its owner published it; None for a draft."""


class AccountUse(NamedTuple):
    """What an account's mods take up."""

    mods: int = 0
    files: int = 0
    bytes: int = 0


class IMods(Protocol):
    """The service for mods. ``session`` is the request's or an event's; its own changes are visible."""

    def get_mods(self, session: Any, mod_ids: Collection[int]) -> dict[int, ModSummary]:
        """Those of the mods that exist, published or not; in one statement for five hundred.

        Any number may be asked for, also one that no column can hold.
        """

    def lock(self, session: Any, mod_id: int) -> bool:
        """Keep the mod from being deleted until the transaction ends; False if it does not exist.

        Drafts and hidden mods exist: ``get_mods`` says whether everybody can see a mod.
        """

    def lock_own(self, session: Any, mod_id: int | None, owner: int) -> ModSummary:
        """Lock the owner's mod until the transaction ends, so that changes to what belongs to it happen one by one.

        :class:`modhub.base.errors.OwnershipLost` if the account has no such mod.
        """

    def hand_over(self, session: Any, mod_id: int, account_id: int) -> None:
        """Make a mod that is locked another account's, which is locked too; both before the mod (C-OWN-50)."""

    def get_mods_of_account(self, session: Any, account_id: int) -> list[tuple[ModSummary, int]]:
        """All mods of an account, last changed first, each with how many published mods of others require it."""

    def get_authors(self, session: Any, account_ids: Collection[int]) -> set[int]:
        """Those of at most 100 accounts that have a published mod, in one statement."""

    def get_use(self, session: Any, account_id: int) -> AccountUse:
        """What the mods of one account take up, drafts and hidden mods included; in one statement."""

    def get_creation_times(self, session: Any, account_id: int, since: datetime) -> list[datetime]:
        """When the account created those of its mods that it has created after ``since``, the last one first."""

    def get_use_of_accounts(self, session: Any) -> dict[int, AccountUse]:
        """What the mods of each account take up; without accounts that have none. For commands: it reads all mods."""

    def get_votes_since(self, session: Any, moment: datetime) -> dict[int, int]:
        """The votes cast since then, those against subtracted, of each mod that has any; in one statement."""


class ISigner(Protocol):
    """The service that signs documents for everybody, as C-SYNC-13 says; absent if no feature signs."""

    public: str | None
    """The public key, 32 bytes in base64; None without a key."""

    def sign(self, fields: Mapping[str, Any]) -> str | None:
        """The signature of the canonical JSON of ``fields`` in base64; None without a key.

        The names of objects within it are in order already.
        """


class ISnapshots(Protocol):
    """The service that keeps all mods as files for everybody; absent if no feature does."""

    def replace_hidden(self) -> None:
        """If a mod of the newest file is hidden or gone, make a file without it before this ends; it raises nothing."""


class StoredDocument(NamedTuple):
    """The stored JSON of a published mod, without the JSON itself: what it takes to answer with many of them.

    ``size`` is in bytes. ``feed`` and ``serial`` identify this state of it (:mod:`modhub.db.changes`). ``requires`` has
    the GUIDs as its owner wrote them, separated by spaces; ``links`` is the ``Link`` header of the mod.
    """

    guid: str
    id: int
    size: int
    serial: int | None
    requires: str
    links: str
    feed: str


class PublicFile(NamedTuple):
    """The code file of a published mod: the mod's GUID, id, title and version; the file's name, size, digest, address.

    ``uploaded_at`` is when these bytes came.
    """

    guid: str
    id: int
    title: str
    version: str
    name: str
    bytes: int
    sha256: str
    url: str
    uploaded_at: str


class RelatedMod(NamedTuple):
    """The code file of a published mod, and what it requires and excludes, GUIDs as its owner wrote them.

    Requests share it: do not modify the lists.
    """

    file: PublicFile
    requires: list[str]
    conflicts: list[str]


class PublicNote(NamedTuple):
    """A changelog entry with the upload that it describes; ``document`` is its JSON."""

    version: str
    sha256: str
    document: Any


class IPublicMods(Protocol):
    """The service for published mods by GUID, read from the public copies: neither drafts nor hidden mods.

    GUIDs are in lower case. The number of statements does not depend on the number of mods.
    """

    def read(self, guid: str) -> ComposedBody | None:
        """The body of ``GET /api/modhub/{id}``; None if there is no such mod."""

    def measure(self, guids: Collection[str]) -> dict[str, StoredDocument]:
        """What is stored of these mods, by GUID: before many of them are read."""

    def documents(self, stored: Iterable[StoredDocument]) -> Iterator[bytes]:
        """The JSON of these mods in this order, one by one.

        Raises :class:`modhub.web.responses.ContentChanged` where a mod is not as it was measured.
        """

    def get_documents(self, guids: Collection[str]) -> dict[str, bytes]:
        """The JSON of a few mods, by GUID."""

    def get_files(self, guids: Collection[str]) -> dict[str, PublicFile]:
        """The code files of these mods, by GUID."""

    def get_notes(self, mod_ids: Collection[int], most: int) -> dict[int, list[PublicNote]]:
        """The newest ``most`` changelog entries of each mod, newest first; of all, at most 500,000 characters."""

    def get_related(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """These mods, by GUID."""

    def get_chains(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """These mods and all that they require, directly or through others, by GUID."""

    def order(self, guids: Iterable[str], requires: dict[str, list[str]]) -> tuple[list[str], list[str]]:
        """The installation order of the wanted mods, and the GUIDs that are missing, as the single mod has them."""

    def get_page(self, after: int, until: int, size: int) -> list[tuple[int, bytes]]:
        """(serial, JSON) of the mods whose last change has a serial above ``after``, up to ``until``, by serial."""


class Profile(NamedTuple):
    """The public name of an account, and when it was created."""

    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ProfileColumns:
    """Where the names of accounts are, for statements that find authors by name: columns of one table.

    ``folded`` is ``name`` as :func:`modhub.content.folding.fold_search` returns it, or NULL for accounts that are not
    found by name.
    """

    id: Any
    name: Any
    folded: Any


class IProfiles(Protocol):
    """The service for public profiles of accounts; absent if no feature provides accounts."""

    columns: ProfileColumns | None
    """By which searches find authors; None if the names are in no table."""

    def get_profiles(self, account_ids: set[int]) -> dict[int, Profile]:
        """Those of at most 100 accounts that exist, in one statement."""


class IAccounts(Protocol):
    """The service that knows which accounts exist; absent if no feature provides accounts."""

    def lock(self, session: Any, account_id: int) -> bool:
        """Keep the account from being deleted until the transaction ends; False if it has been deleted."""

    def lock_active(self, session: Any, account_id: int) -> bool:
        """The same for an account that acts: it cannot be blocked either until then; 403 if it is blocked.

        A view has asked before, but what it reads may take minutes to arrive. Call it before anything else is locked.
        """

    def end_ownership(self, session: Any, mod_id: int) -> None:
        """End what the owner of a mod has made for it alone, publisher keys and offers: it gets another owner."""

    def make_sample(self, session: Any, name: str) -> int:
        """The id of the account of this name that owns samples, created if necessary; nobody can sign in to it."""


class IAuthorPictures(Protocol):
    """The service that knows the pictures of authors; absent if no feature provides any."""

    def find_picture(self, account_id: int) -> str | None:
        """The path of the author's picture, a JPEG of 256×256 pixels; None without one."""


class ISquarePictures(Protocol):
    """The service that makes the picture of a person, or of a mod, from what they sent, without keeping that."""

    def make(self, image: BinaryIO) -> bytes:
        """A JPEG of 256×256 pixels: the middle of the image, enlarged if it is smaller.

        400 for what is no image that browsers show, is damaged or has more than 40 megapixels; 503 ``busy`` while the
        process makes another one. It takes seconds: call it before the first statement, in a view whose body limit
        says ``waits``.
        """

    def copy(self, image: BinaryIO) -> bytes:
        """An image of a mod without its metadata; as `make`."""


class ModSelection(NamedTuple):
    """Published mods that are one of ``mods``, of one of ``authors``, or for one of ``games``."""

    mods: Collection[int] = ()
    """Their ids."""
    authors: Collection[int] = ()
    """Account ids."""
    games: Collection[str] = ()
    """Names of games as :func:`modhub.content.folding.fold_game` returns them."""


class ChangeWatch(NamedTuple):
    """What is watched for changes: selects of two columns, as :class:`ModSelection` names mods, and since when.

    The feature's own tables say what is watched, so that one statement finds what has changed.
    """

    mods: Any
    """(id of the mod, moment)"""
    authors: Any
    """(id of the account, moment)"""
    games: Any
    """(folded name of the game, moment)"""


class FeedHead(NamedTuple):
    """What a feed says about itself. Paths; ``page`` is the HTML page of the same."""

    title: str
    path: str
    page: str
    twin: str
    """The path of the same feed as JSON Feed."""
    id: str = ""
    """The id of the Atom feed; without one its address."""


class CardPage(NamedTuple):
    """One page of mods as the cards of the pages."""

    cards: Markup
    """One after the other; empty without any."""
    total: int


class IModCards(Protocol):
    """The service that shows published mods on pages of features; the cards are those of browse."""

    def get_page(
        self,
        request: Any,
        selection: ModSelection,
        page: int,
        size: int,
        *,
        with_changes: bool = False,
        news: Callable[[Collection[int]], Mapping[int, bool]] | None = None,
    ) -> CardPage:
        """One page of the selected mods, last changed first; ``with_changes``: with what is new in each.

        ``news`` gets the ids of the page's mods and returns those to mark: as new if True, else as updated.
        """

    def get_cards(self, request: Any, mod_ids: Sequence[int]) -> Markup:
        """The cards of those of at most 100 mods that are published, in this order, for ``<div class="cards">``."""

    def get_feed(self, request: Any, selection: ModSelection, head: FeedHead, size: int) -> Any:
        """The Atom feed of the newest versions of the selected mods: a public response.

        The same as JSON Feed for a view whose name ends with ``.json``.
        """

    def count_changed(self, watch: ChangeWatch, but_of: Any, most: int) -> Any:
        """The statement that counts, up to ``most``, the published mods that have changed since the watch's moments.

        ``but_of`` is an account, as a value or a parameter, whose own mods do not count.
        """

    def list_changed(self, watch: ChangeWatch, but_of: Any) -> Any:
        """The statement that lists the mods that `count_changed` counts: the id, and since when it is watched."""

    def find_changed(self, watch: ChangeWatch, but_of: Any) -> Any:
        """The statement that finds which of the mods ``ids``, a JSON array as a parameter, `count_changed` counts.

        Two columns: the id, and whether the mod was created after the moment (1 or 0).
        """
