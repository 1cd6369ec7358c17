"""``sweep`` and ``verify`` for files. Both read only the table of blobs (C-RUN-6).

Safe while the service runs, in any number of processes. Each function says what it locks, and for how long.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

from modhub.blobs.models import IS_LIVE, StoredBlob, live_blobs
from modhub.blobs.store import BlobStore
from modhub.db import Databases, bulk, now

GRACE_SECONDS: Final = 3600
"""Files older than this cannot belong to a running request."""

KEPT_SECONDS: Final = 2 * 24 * 3600
"""How long files stay that were replaced or deleted: longer than any backup takes."""

LOCKED_BATCH: Final = 50
"""Files deleted while a lock is held: PostgreSQL ends a transaction that is idle for a minute."""


def sweep(databases: Databases, store: BlobStore, older_than: int = KEPT_SECONDS) -> tuple[int, int]:
    """Remove replaced and deleted files, and files without a row, once they are ``older_than`` seconds old.

    Returns (rows removed, orphans removed). A file with a row is never removed, whatever is written concurrently.
    A backup copies the rows first and the files second: so it needs files that were replaced or deleted meanwhile.
    """
    return _sweep_trash(databases, store, older_than), _sweep_orphans(databases, store, older_than)


def count_sweepable(databases: Databases, store: BlobStore, older_than: int = KEPT_SECONDS) -> tuple[int, int]:
    """What :func:`sweep` would remove now: (rows, orphans). Nothing is locked or changed."""
    with databases.readonly_session() as session:
        trashed = select(func.count()).where(StoredBlob.trashed_at <= now() - timedelta(seconds=older_than))
        orphans = sum(len(_without_row(session, batch)) for batch in bulk.batches(_old_keys(store, older_than)))
        return session.scalar(trashed) or 0, orphans


def _sweep_trash(databases: Databases, store: BlobStore, older_than: int) -> int:
    """Delete trashed files without a lock: nothing refers to them, and nothing ever will again.

    Files are deleted before their rows, so that the next sweep continues after a crash. The rows of a batch are deleted
    by one statement in its own transaction.
    """
    cutoff = now() - timedelta(seconds=older_than)
    trashed = select(StoredBlob.id, StoredBlob.key).where(StoredBlob.trashed_at <= cutoff)
    trashed = trashed.order_by(StoredBlob.id).limit(bulk.BATCH)
    removed = last = 0
    with databases.readonly_session() as session:
        while batch := session.execute(trashed.where(StoredBlob.id > last)).all():
            last = batch[-1].id
            _delete(store, [row.key for row in batch])
            with databases.write_session.begin() as write_session:
                bulk.execute_bulk(write_session, delete(StoredBlob).where(StoredBlob.id.in_([row.id for row in batch])))
            removed += len(batch)
    return removed


def _sweep_orphans(databases: Databases, store: BlobStore, older_than: int) -> int:
    """List the store without a lock; lock out row writers only for the few files without a row.

    `_block_row_writers` waits until every published file has its row committed. A file without a row is then an orphan,
    or a staged upload whose row comes next. Such an upload is seconds old: a request stages its file just before it
    takes locks, waits at most ``modhub.lock_seconds`` for each, and a retry stages again. So a file older than
    `GRACE_SECONDS` is an orphan and is deleted after the lock is released. A younger one is deleted under the lock, in
    smaller batches: if it belonged to an upload, publishing fails before the row can be committed, and the upload is
    rejected.
    """
    with databases.readonly_session() as session:
        suspects = [key for batch in bulk.batches(_old_keys(store, older_than)) for key in _without_row(session, batch)]
    removed = 0
    delete_under_lock = older_than < GRACE_SECONDS
    for index, batch in enumerate(bulk.batches(suspects, LOCKED_BATCH if delete_under_lock else bulk.BATCH)):
        if index:
            time.sleep(bulk.BATCH_PAUSE_SECONDS)
        with _block_row_writers(databases) as session:
            orphans = _without_row(session, batch)
            if delete_under_lock:
                _delete(store, orphans)
        if not delete_under_lock:
            orphans = _delete_without_row(databases, store, orphans)
        removed += len(orphans)
    return removed


def _old_keys(store: BlobStore, older_than: int) -> Iterator[str]:
    cutoff, keys = time.time() - older_than, store.keys()
    return (key for key, changed in keys if changed <= cutoff)


@contextmanager
def _block_row_writers(databases: Databases) -> Iterator[Session]:
    """A transaction during which no other one is between publishing a file and committing its row.

    Rows are written before files are published (`modhub.blobs.data_manager`), so a lock against writing rows waits for
    such transactions. On SQLite every write transaction has that lock.
    """
    with databases.write_session.begin() as session:
        if databases.dialect == "postgresql":
            session.execute(text("LOCK TABLE core_blob IN SHARE ROW EXCLUSIVE MODE"))
        yield session


def _without_row(session: Session, keys: list[str]) -> list[str]:
    with_row = set(session.scalars(select(StoredBlob.key).where(StoredBlob.key.in_(keys))))
    return [key for key in keys if key not in with_row]


def _delete_without_row(databases: Databases, store: BlobStore, keys: list[str]) -> list[str]:
    """Check each file again, then delete it: its age is wrong if the file server's clock is behind ours."""
    with databases.readonly_session() as session:
        deleted = []
        for key in keys:
            if _without_row(session, [key]):
                store.delete(key)
                deleted.append(key)
    return deleted


def _delete(store: BlobStore, keys: Iterable[str]) -> None:
    for key in keys:
        store.delete(key)


def blob_damage(
    session: Session, store: BlobStore, advance: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[str, str]]:
    """Yield key and damage of each file that does not match its row; nothing if all is well.

    A file that is replaced and swept during the check is not reported. ``advance`` gets the bytes checked.
    """
    for row_id, blob in live_blobs(session):
        damage = store.verify(blob.key, blob.size, blob.sha256)
        # A blob never changes and never leaves the trash: if it is live now, it was live when it was read.
        if damage is not None and session.scalar(select(StoredBlob.id).where(StoredBlob.id == row_id, IS_LIVE)):
            yield blob.key, damage
        advance(blob.size)
