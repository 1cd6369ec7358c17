"""One zip archive of a mod and all that it requires: what is in it, and who is being given one."""

import hashlib
import io
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Final

import msgspec

from modhub.base.errors import busy, conflict
from modhub.blobs.store import BlobStore, RemoteFile
from modhub.catalogue.reading.service import CatalogueReader, ModFile
from modhub.content.limits import MB
from modhub.content.portable_names import portable_name
from modhub.content.text import N_
from modhub.web.downloads import StoredFile
from modhub.web.payload import encode
from modhub.web.zip_files import FileOpener, ZipBody, ZipMember, zip_size

MAX_ARCHIVE_MODS: Final = 200
MAX_ARCHIVE_BYTES: Final = 500 * MB
"""Bytes of the code files of one archive."""
INDEX_NAME: Final = "index.json"
MAX_FETCHED: Final = 4_000
"""Files of an object store that all archives of a process hold: a part of what it may open (``LimitNOFILE``)."""
MAX_CHECKING: Final = 2
"""Archives whose files are being checked at once: the first time reads all bytes, an object store fetches them."""
BUSY_SECONDS: Final = 10


class ArchiveEntry(msgspec.Struct):
    """A mod in ``index.json``: ``name`` is that of its member, ``bytes`` and ``sha256`` are those of its code file."""

    guid: str
    title: str
    version: str
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ChainArchive:
    """The archive of a chain, before it is made; ``files`` are in installation order, the mod itself is last."""

    files: tuple[ModFile, ...]

    @cached_property
    def entries(self) -> list[ArchiveEntry]:
        """What ``index.json`` lists. Names begin with the place in the installation order: ``01-hud.zip``."""
        digits = max(2, len(str(len(self.files))))
        return [
            ArchiveEntry(
                code.guid,
                code.title,
                code.version,
                f"{place:0{digits}}-{portable_name(code.file.name)}",
                code.file.size,
                code.file.sha256,
            )
            for place, code in enumerate(self.files, 1)
        ]

    @cached_property
    def index(self) -> bytes:
        """``index.json``."""
        return msgspec.json.format(encode({"count": len(self.entries), "mods": self.entries}), indent=2) + b"\n"

    @property
    def etag(self) -> str:
        """The tag of what is locked: the mods in their order, each with its version and its file.

        A weak one: a zip archive also names the time at which it was made.
        """
        return f'W/"{hashlib.sha256(self.index).hexdigest()}"'

    @property
    def code_bytes(self) -> int:
        """The size of the code files."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def size(self) -> int:
        """The size of the archive in bytes."""
        sizes = [(entry.name, entry.bytes) for entry in self.entries]
        return zip_size([(INDEX_NAME, len(self.index)), *sizes])

    @property
    def root(self) -> ModFile:
        """The file of the mod that was asked for."""
        return self.files[-1]


def read_archive(catalogue: CatalogueReader, mod_id: int | None) -> ChainArchive | None:
    """Return the archive of a mod, by two statements; None if it is not published.

    409 ``required_mods_missing``, ``too_many_mods`` or ``archive_too_large`` if the chain is none for an archive.
    """
    chain = catalogue.chain(mod_id)
    if chain is None:
        return None
    if len(chain.install) > MAX_ARCHIVE_MODS:
        message = N_("These are %(number)s mods, and one zip has at most %(limit)s. Download them one by one.")
        raise conflict("too_many_mods", message, values={"number": len(chain.install), "limit": MAX_ARCHIVE_MODS})
    guids = [mod.guid for mod in chain.install]
    by_guid = {code.guid: code for code in catalogue.codes(guids)}
    if guids[-1] not in by_guid:
        return None  # hidden or deleted since the first statement
    # The same may have happened to a required one.
    missing = len(chain.missing) + len(guids) - len(by_guid)
    if missing:
        message = N_("Required mods that are not on this site: %(number)s. Download the others one by one.")
        raise conflict("required_mods_missing", message, values={"number": missing})
    archive = ChainArchive(tuple(by_guid[guid] for guid in guids))
    if archive.code_bytes > MAX_ARCHIVE_BYTES:
        message = N_("These are %(number)s MB, and one zip has at most %(limit)s MB. Download the mods one by one.")
        size = -(-archive.code_bytes // MB)
        raise conflict("archive_too_large", message, values={"number": size, "limit": MAX_ARCHIVE_BYTES // MB})
    return archive


class ArchiveTurns:
    """Who is being given an archive: one at a time for each peer; one per process, for any thread."""

    def __init__(self) -> None:
        self._fetched_of_peers: dict[str, int] = {}
        self._checking = 0
        self._lock = Lock()

    def open(self, peer: str, archive: ChainArchive, store: BlobStore) -> ZipBody:
        """The archive. All of its files are checked now; each is opened, and checked again, when its turn comes.

        A blob never changes, and is kept for a while when nothing refers to it any more (C-RUN-6): a slow reader gets
        the bytes of now, or an archive that ends early.
        503 ``busy`` if the peer is being given another one, or the process checks or holds too many. Errors of the
        store as in :meth:`BlobStore.open`.
        """
        self._begin(peer)
        try:
            with ExitStack() as held:
                held.callback(self._end, peer)
                members = [ZipMember(INDEX_NAME, len(archive.index), partial(io.BytesIO, archive.index))]
                for entry, code in zip(archive.entries, archive.files, strict=True):
                    opener = self._opener(peer, code.file, store, held)
                    members.append(ZipMember(entry.name, entry.bytes, opener))
                return ZipBody(members, held.pop_all().close)
        finally:
            with self._lock:
                self._checking -= 1

    def _begin(self, peer: str) -> None:
        with self._lock:
            if peer in self._fetched_of_peers or self._checking == MAX_CHECKING:
                raise busy(BUSY_SECONDS)
            self._fetched_of_peers[peer] = 0
            self._checking += 1

    def _opener(self, peer: str, file: StoredFile, store: BlobStore, held: ExitStack) -> FileOpener:
        opener = partial(store.open, file.key, file.size, file.sha256)
        with opener() as opened:
            if not isinstance(opened, RemoteFile):
                return opener
            with self._lock:
                if sum(self._fetched_of_peers.values()) >= MAX_FETCHED:
                    raise busy(BUSY_SECONDS)
                self._fetched_of_peers[peer] += 1
            # The server's loop must not wait for another machine.
            fetched = held.enter_context(opened.fetch(0, file.size))
        return lambda: fetched

    def _end(self, peer: str) -> None:
        with self._lock:
            self._fetched_of_peers.pop(peer, None)
