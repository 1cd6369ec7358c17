"""Making snapshots: all public documents by serial, as compressed JSON lines in the file store.

A snapshot is not a moment: it is read in pages. A mod that changes in the meantime gets a higher serial and may be left
out. A client that continues with the changes after the snapshot's serial has every mod as it is.
"""

import logging
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from gzip import GzipFile
from tempfile import TemporaryFile
from typing import IO, Any, Final

import transaction
from msgspec.structs import asdict
from sqlalchemy import bindparam, delete, exists, select
from sqlalchemy.orm import Session, joinedload

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs import BlobStore, stage
from modhub.blobs.models import StoredBlob, create_blob_row, trash_blob
from modhub.db import Databases, bulk, from_micros, now, shared_now, to_micros
from modhub.db.changes import MOD, ChangeReader, Generation, PublicChange, What
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import IPublicMods
from modhub.plugins.workers import raise_if_stopping
from modhub.web.downloads import REVALIDATE, StoredFile
from modhub_sync import limits
from modhub_sync.models import Snapshot
from modhub_sync.schemas import SnapshotDocument
from modhub_sync.signing import SigningKey

log = logging.getLogger(__name__)
KEPT: Final = 2
"""Snapshots that are kept: a client that has just read the previous pointer can still fetch it."""
COMPRESSION: Final = 6
Beat = Callable[[], object]

_IS_LOSS: Final = (PublicChange.kind == MOD) & (PublicChange.what == What.DELETED.value)
HAS_LOST_MODS: Final = exists().where(PublicChange.serial > Snapshot.serial, _IS_LOSS)
"""Whether a mod that may be in the snapshot has been deleted or hidden since."""


class _Outdated(Exception):
    """Rolls back a snapshot that must not be stored any more."""


class SnapshotMaker:
    """Makes snapshots and deletes old ones; for the command, the server's own schedule, and as `ISnapshots`."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self.databases = find_service(registry, Databases)
        self.changes = find_service(registry, ChangeReader)
        self.mods = find_service(registry, IPublicMods)

    def make(self, store: BlobStore, beat: Beat = bool) -> tuple[int, int]:
        """Make a snapshot, delete those that it replaces, and return its serial and the number of its mods.

        One that was begun before a failover is thrown away: it may have lost mods, and its serial is of another feed.
        """
        while True:
            with TemporaryFile() as file:
                feed, serial, count = self._write(file, beat)
                file.seek(0)
                if self._store(store, file, feed, serial):
                    return serial, count

    def _store(self, store: BlobStore, file: IO[bytes], feed: str, serial: int) -> bool:
        """Store a snapshot; False if a new feed has begun since, or a mod was deleted or hidden (C-SYNC-14)."""
        manager = transaction.TransactionManager(explicit=True)
        with suppress(_Outdated), manager:
            session = self.databases.joined_session(manager)
            # All writers wait for the row of the generation, so the file is stored before it is locked. Then nothing
            # is hidden until the commit, and what is hidden after it makes a snapshot of its own.
            blob = stage(manager, store, file, limits.SNAPSHOT)
            if session.scalar(select(Generation.feed).with_for_update()) != feed:
                raise _Outdated
            if session.scalar(select(exists().where(PublicChange.serial > serial, _IS_LOSS))):
                raise _Outdated
            made = Snapshot(serial=serial, blob=create_blob_row(session, blob), made_at=shared_now(session))
            session.add(made)
            session.flush()
            _delete_old(session)
            return True
        return False

    def measure(self) -> tuple[int, int]:
        """The serial and the number of mods of a snapshot that is made now; stores none."""
        with TemporaryFile() as file:
            return self._write(file)[1:]

    def make_if_due(self, store: BlobStore, hours: int, beat: Beat = bool) -> bool:
        """Make a snapshot if the schedule or a deleted mod asks for one. ``beat`` is called for each page."""
        if not self.is_due(hours):
            return False
        self.make(store, beat)
        return True

    def is_due(self, hours: int) -> bool:
        """Whether a snapshot should be made now."""
        newest = select(Snapshot.serial, Snapshot.made_at, HAS_LOST_MODS).order_by(Snapshot.id.desc()).limit(1)
        with self.databases.readonly_session() as session:
            row, time = session.execute(newest).one_or_none(), shared_now(session)
        if row is None:
            return hours > 0
        serial, made_at, has_lost_mods = row
        is_old = hours > 0 and not made_at <= time < made_at + timedelta(hours=hours)
        return has_lost_mods or (is_old and serial != self.changes.generation()[0])

    def _write(self, file: IO[bytes], beat: Beat = bool) -> tuple[str, int, int]:
        """Write the documents up to the present serial; (feed, serial, number of mods).

        The same documents always make the same bytes.
        """
        head, feed = self.changes.generation()
        count = last = 0
        with GzipFile(filename="", mode="wb", fileobj=file, compresslevel=COMPRESSION, mtime=0) as compressed:
            while page := self.mods.get_page(last, head, limits.SNAPSHOT_PAGE):
                beat()
                for _, document in page:
                    compressed.write(document + b"\n")
                count, last = count + len(page), page[-1][0]
        return feed, head, count

    def replace_hidden(self) -> None:
        """Make a snapshot at once; if the files cannot be stored now, the worker makes it as soon as they can."""
        store = find_optional_service(self._registry, BlobStore)
        if store is not None:
            try:
                self.make_if_due(store, 0)
            except (ApiError, OSError) as error:
                log.warning("the snapshot without the hidden mods waits: %s", error)


def describe_snapshot_files(session: Session, blob_ids: Collection[int]) -> dict[int, str]:
    """``snapshot up to serial 12``, by the id of the stored file's row; for the operator."""
    snapshots = select(Snapshot.blob_id, Snapshot.serial).where(Snapshot.blob_id.in_(blob_ids))
    return {blob_id: f"snapshot up to serial {serial}" for blob_id, serial in session.execute(snapshots)}


def _delete_old(session: Session) -> None:
    """Delete all but the newest snapshots, and those with mods that have been deleted since; their files are swept."""
    newest_first = select(Snapshot, HAS_LOST_MODS).options(joinedload(Snapshot.blob)).order_by(Snapshot.id.desc())
    rows = session.execute(newest_first).all()
    old = [row for place, (row, has_lost_mods) in enumerate(rows) if place >= KEPT or (place and has_lost_mods)]
    trash_blob(session, [row.blob_id for row in old])
    bulk.execute_bulk(session, delete(Snapshot).where(Snapshot.id.in_([row.id for row in old])))


DELETED_FOR: Final = timedelta(minutes=10)
"""How long a snapshot may show a mod that has been deleted or hidden. By then there is a new one, or none is shown."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_COLUMNS: Final = (
    Snapshot.serial,
    StoredBlob.key,
    StoredBlob.size,
    StoredBlob.sha256,
    Snapshot.made_at,
    select(Generation.feed).scalar_subquery(),
)


_LOST_LONG_AGO: Final = HAS_LOST_MODS.where(
    PublicChange.at <= bindparam("deleted_before", type_=PublicChange.serial.type)
)
_SHOWN: Final = (
    select(*_COLUMNS)
    .join(StoredBlob, StoredBlob.id == Snapshot.blob_id)
    .where(~_LOST_LONG_AGO)
    .order_by(Snapshot.id.desc())
    .limit(1)
)
_NEWEST: Final = PreparedQuery(_SHOWN)
_FILE: Final = PreparedQuery(_SHOWN.where(StoredBlob.sha256 == bindparam("sha256")))


def find_pointer(reader: RawQueryExecutor, key: SigningKey) -> SnapshotDocument | None:
    """The pointer to the newest snapshot, signed if there is a key; None before the first."""
    rows = _rows(reader, _NEWEST)
    if not rows:
        return None
    serial, _, size, sha256, _, feed = rows[0]
    pointer = SnapshotDocument(serial, feed, f"/Modhub/snapshot/{sha256}", size, sha256, None)
    fields = asdict(pointer)
    del fields["signature"]
    pointer.signature = key.sign(fields)
    return pointer


def find_file(reader: RawQueryExecutor, sha256: str) -> StoredFile | None:
    """The file with this SHA-256; None if there is no such snapshot, or no longer."""
    rows = _rows(reader, _FILE, sha256=sha256) if _SHA256.fullmatch(sha256) else []
    if not rows:
        return None
    serial, key, size, sha256, made_at, _ = rows[0]
    return StoredFile(
        key=key,
        size=size,
        sha256=sha256,
        name=f"modhub-{serial}.jsonl.gz",
        content_type="application/gzip",
        modified=from_micros(made_at),
        inline=False,
        # The content never changes, but it must be gone when one of its mods is deleted.
        cache_control=REVALIDATE,
    )


def _rows(reader: RawQueryExecutor, statement: PreparedQuery, **values: Any) -> list[Row]:
    return reader.rows(statement, **values, deleted_before=to_micros(now() - DELETED_FOR))


CHECK_SECONDS: Final = 60.0


def make_snapshot(registry: Any) -> None:
    """The worker that makes a snapshot if one is due; one process at a time."""
    store = find_optional_service(registry, BlobStore)
    if store is not None:
        hours = registry.settings["modhub_sync.snapshot_hours"]
        SnapshotMaker(registry).make_if_due(store, hours, lambda: raise_if_stopping(registry))
