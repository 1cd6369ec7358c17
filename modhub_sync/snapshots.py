"""Making snapshots: all public documents by serial, as compressed JSON lines in the file store.

A snapshot is not a moment: it is read in pages. A mod that changes in the meantime gets a higher serial and may be left
out. A client that continues with the changes after the snapshot's serial has every mod as it is.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from gzip import GzipFile
from tempfile import TemporaryFile
from typing import IO, Any, Final

import transaction
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session, joinedload

from modhub.base.service_registry import find_service
from modhub.blobs import BlobStore, stage
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.db import Databases, bulk, shared_now
from modhub.db.changes import MOD, ChangeReader, Generation, PublicChange, What
from modhub.plugins.services import IPublicMods
from modhub_sync import limits
from modhub_sync.models import Snapshot

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
    """Makes snapshots and deletes old ones; for the command and for the server's own schedule."""

    def __init__(self, registry: Any) -> None:
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
        with suppress(_Outdated), self._writing() as (session, manager):
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

    @contextmanager
    def _writing(self) -> Iterator[tuple[Session, Any]]:
        manager = transaction.TransactionManager(explicit=True)
        with manager:
            yield self.databases.joined_session(manager), manager


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
