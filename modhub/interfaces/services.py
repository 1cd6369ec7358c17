"""The services of the core and of accounts, and the values that they return."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, Protocol

from modhub.base.composed_body import ComposedBody
from modhub.blobs.store import Blob
from modhub.declarations import RemovablePart


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
    version: str = ""
    """The version of its code file; empty before the first."""
    hidden: bool = False
    """Whether an operator hid it."""


class AccountUse(NamedTuple):
    """What an account's mods take up."""

    mods: int = 0
    files: int = 0
    bytes: int = 0


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

    def lock_own(self, session: Any, mod_id: int | None, owner: int) -> ModSummary:
        """Lock the owner's mod until the transaction ends, so that changes to what belongs to it happen one by one.

        :class:`modhub.base.errors.OwnershipLost` if the account has no such mod.
        """

    def get_mods_of_account(self, session: Any, account_id: int) -> list[tuple[ModSummary, int]]:
        """All mods of an account, last changed first, each with how many published mods of others require it."""

    def get_use(self, session: Any, account_id: int) -> AccountUse:
        """What the mods of one account take up, drafts and hidden mods included; in one statement."""

    def get_use_of_accounts(self, session: Any) -> dict[int, AccountUse]:
        """What the mods of each account take up; without accounts that have none. For commands: it reads all mods."""

    def get_votes_since(self, session: Any, moment: datetime) -> dict[int, int]:
        """The votes cast since then, those against subtracted, of each mod that has any; in one statement."""

    def hide_mods_of_accounts(self, session: Any, account_ids: Collection[int], at: datetime) -> list[int]:
        """Hide all mods of these accounts that are not hidden yet; the ids of those, which are hidden since ``at``."""

    def restore_mods_hidden_at(self, session: Any, mod_ids: Collection[int], at: datetime) -> list[int]:
        """Undo that for those of these mods that are still hidden since then; their ids."""


class FileUse(NamedTuple):
    """A file that a mod has or had, or that is kept aside of it because a moderator removed it."""

    mod_id: int
    kind: str
    """``code``, ``css`` or ``image``; ``former``: a code file that a changelog entry names and that was replaced."""
    name: str
    """The name of the file; of a former one its version."""
    sha256: str
    is_kept: bool = False
    """Whether it is kept aside: nobody but moderators knows of it."""


class IFileDigests(Protocol):
    """The service that knows where a file is, by its SHA-256 in lower case; of drafts and hidden mods too.

    It is for those who judge mods: what it returns is not for everybody.
    """

    def of_mods(self, session: Any, mod_ids: Collection[int]) -> list[FileUse]:
        """The files of these mods: those that they have, those that are kept aside, then former ones, newest first."""

    def find(self, session: Any, digests: Collection[str]) -> list[FileUse]:
        """The mods that have or had a file with one of these digests, by their ids."""

    def find_others(self, session: Any, digests: Collection[str]) -> dict[str, list[str]]:
        """What else is such a file: a build, an icon, a picture; sentences for the operator by digest."""


class ISigner(Protocol):
    """The service that signs documents for everybody, as C-SYNC-13 says; absent if no feature signs."""

    public: str | None
    """The public key, 32 bytes in base64; None without a key."""

    def sign(self, fields: Mapping[str, Any]) -> str | None:
        """The signature of the canonical JSON of ``fields`` in base64; None without a key.

        The names of objects within it are in order already.
        """


class FileRecord(NamedTuple):
    """What is known of a file of one mod, as those who decide about the mod need it."""

    mod_id: int
    kind: str
    """``code``, ``css`` or ``image``."""
    name: str
    """Empty for what a changelog entry names: that file may have been replaced."""
    version: str
    """Of the changelog entry; empty for a file that is stored."""
    bytes: int
    sha256: str
    asset_id: int | None
    """The number of ``/Modhub/file/{assetId}``; None for a file that is kept aside, and for an entry."""


class IModeration(Protocol):
    """The service for decisions about mods, in the transaction of the decision.

    What is done is in the audit trail, as done by the caller of the request. Mods that do not exist are left out.
    """

    @property
    def parts(self) -> Mapping[str, RemovablePart]:
        """What can be removed and restored, by name, once all features are included: ``image``, ``changelog`` …"""

    def hide(self, session: Any, mod_ids: Collection[int], reason: str) -> list[int]:
        """Hide mods from everybody but their owners, as ``mod hide`` does; the ids of those that were not hidden.

        ``reason`` replaces an earlier one. Nothing but ``release`` and ``mod restore`` makes a hidden mod visible.
        """

    def release(self, session: Any, mod_ids: Collection[int]) -> list[int]:
        """Undo ``hide``; the ids of those that were hidden. A draft stays a draft."""

    def delete(self, session: Any, mod_ids: Collection[int], keep_until: datetime | None = None) -> list[int]:
        """Delete mods permanently; the ids of those that existed. With ``keep_until`` evidence is kept until then."""

    def get_files(self, session: Any, mod_ids: Collection[int]) -> dict[int, list[FileRecord]]:
        """The files of each of these mods: those that are shown, those kept aside, then its changelog's, newest first.

        Where else they are says :class:`IFileDigests`.
        """


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
    """The code file of a published mod."""

    guid: str
    id: int
    version: str
    bytes: int
    sha256: str
    url: str


class RelatedMod(NamedTuple):
    """What a published mod requires and excludes, GUIDs as its owner wrote them, its code file, and its title.

    Requests share it: do not modify the lists.
    """

    file: PublicFile
    requires: list[str]
    conflicts: list[str]
    title: str


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

        Raises :class:`modhub.http.responses.ContentChanged` where a mod is not as it was measured.
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


class IUploadInspection(Protocol):
    """Looks at one file that an account uploads, while it is staged (``config.add_upload_inspector``)."""

    def see(self, chunk: bytes) -> None:
        """Take the next bytes of the file, in order. Raises nothing: what goes wrong is told by ``finish``."""

    def finish(self, blob: Blob) -> None:
        """The file is staged as ``blob``, and nothing of it is committed. Raises what the sender is told.

        Rows belong in the session of the request, by ``session.add`` alone: its first statement comes later.
        """

    def close(self) -> None:
        """The end, whether or not the file was staged."""


class Profile(NamedTuple):
    """The public name of an account, and when it was created."""

    name: str
    since: datetime


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
    """The path of the same feed in the other format."""


class CardPage(NamedTuple):
    """One page of mods as the cards of the pages."""

    cards: list[Any]
    """``Markup`` of each."""
    total: int


class IModCards(Protocol):
    """The service that shows published mods on pages of features; the cards are those of browse."""

    def get_page(
        self, request: Any, selection: ModSelection, page: int, size: int, *, with_changes: bool = False
    ) -> CardPage:
        """One page of the selected mods, last changed first; ``with_changes``: with what is new in each."""

    def get_row(self, request: Any, sort: str, title: str, note: str) -> Any:
        """The first mods in an order of the list as a row of the front (``Markup``); None if there are too few.

        ``title`` and ``note``, a sentence that says what the order is, are msgids.
        """

    def get_feed(self, request: Any, selection: ModSelection, head: FeedHead, size: int) -> Any:
        """The Atom feed of the newest versions of the selected mods, a public response."""

    def get_json_feed(self, request: Any, selection: ModSelection, head: FeedHead, size: int) -> Any:
        """The same as JSON Feed."""

    def count_changed(self, watch: ChangeWatch, but_of: Any, most: int) -> Any:
        """The statement that counts, up to ``most``, the published mods that have changed since the watch's moments.

        ``but_of`` is an account, as a value or a parameter, whose own mods do not count.
        """


class IProfiles(Protocol):
    """The service for public profiles of accounts; absent if no feature provides accounts."""

    def get_profiles(self, account_ids: set[int]) -> dict[int, Profile]:
        """Those of at most 100 accounts that exist, in one statement."""


@dataclass(frozen=True, slots=True)
class ProfileColumns:
    """The service for statements that find authors by name: columns of one table; absent if no feature has names there.

    ``folded`` is ``name`` as :func:`modhub.content.folding.fold_search` returns it, or NULL for accounts that are not
    found by name.
    """

    id: Any
    name: Any
    folded: Any


class IAccounts(Protocol):
    """The service that knows which accounts exist; absent if no feature provides accounts."""

    def lock(self, session: Any, account_id: int) -> bool:
        """Keep the account from being deleted until the transaction ends; False if it has been deleted."""

    def lock_active(self, session: Any, account_id: int) -> bool:
        """The same for an account that acts: it cannot be blocked either until then; 403 if it is blocked.

        A view has asked before, but what it reads may take minutes to arrive. Call it before anything else is locked.
        """


class BlockOutcome(NamedTuple):
    """What blocking an account did. With it, ``unblock`` undoes exactly that."""

    is_new: bool
    """Whether it was not blocked before."""
    mods: list[int]
    """The mods that were hidden with it."""
    at: datetime
    """When these were hidden."""


class IAccountBlocking(Protocol):
    """The service that blocks accounts, in the transaction of a decision; absent if no feature provides accounts."""

    def get_blocked(self, session: Any, account_ids: Collection[int]) -> dict[int, datetime]:
        """Since when those of these accounts are blocked that are, in one statement for 500 accounts."""

    def block(self, session: Any, account_id: int, reason: str, *, hide_mods: bool) -> BlockOutcome | None:
        """Block an account and end its sessions, as ``account block`` does; None if it does not exist.

        ``hide_mods`` hides all its mods that are not hidden. ``reason`` is for operators, cut to 200 characters.
        """

    def unblock(
        self, session: Any, account_id: int, mod_ids: Collection[int] = (), at: datetime | None = None
    ) -> list[int] | None:
        """Undo that; None if the account does not exist. Sessions stay ended.

        ``mod_ids`` and ``at`` are of the `BlockOutcome`: the mods that are still hidden since then are released, and
        their ids returned.
        """


class IPersonalArchives(Protocol):
    """The service that puts together what is stored about an account, for the person whose account it is."""

    def write(
        self,
        session: Any,
        account_id: int,
        file: BinaryIO,
        *,
        beat: Callable[[], object] = bool,
        skips_unreadable: bool = False,
    ) -> int:
        """Write a zip archive of JSON documents and files, and return how many files it has.

        ``session`` only reads. ``beat`` is called before each file. A file that cannot be read raises as
        :meth:`modhub.blobs.BlobStore.open`; with ``skips_unreadable`` the archive names it as missing.
        """


class IAuthorPictures(Protocol):
    """The service that knows the pictures of authors; absent if no feature provides any."""

    def find_picture(self, account_id: int) -> str | None:
        """The path of the author's picture, a JPEG of 256×256 pixels; None without one."""


class ISquarePictures(Protocol):
    """The service that makes the picture of a person from what they sent, without keeping that."""

    def make(self, image: BinaryIO) -> bytes:
        """A JPEG of 256×256 pixels: the middle of the image, enlarged if it is smaller.

        400 for what is no image that browsers show, is damaged or has more than 40 megapixels; 503 ``busy`` while the
        process makes another one. It takes seconds: call it before the first statement, in a view whose body limit
        says ``waits``.
        """


class IDemoAccounts(Protocol):
    """The service that provides owners for the samples of ``modhub-admin demo``."""

    def account_for(self, session: Any, name: str) -> int:
        """The id of the sample account of this name, created if necessary; nobody can sign in to it."""
