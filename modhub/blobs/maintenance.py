"""``sweep`` and ``verify`` for files: both read the core's one table of blobs alone (C-RUN-6).

The service may run meanwhile, in any number of processes: what is locked, and for how long, is said where it happens.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import BlobStore
from modhub.db import Databases, now

GRACE_SECONDS: Final = 3600
"""What is this old is no part of a running request any more."""

HELD: Final = 50
"""Files that are deleted while a lock is held: PostgreSQL ends a transaction that asks nothing for a minute."""


def sweep(databases: Databases, store: BlobStore, older_than: int = GRACE_SECONDS) -> tuple[int, int]:
    """Remove replaced and deleted files, and files that no row names, once they are ``older_than`` seconds old.

    Answers (rows taken, orphans taken). Nothing that a row refers to is ever removed, whoever writes meanwhile.
    """
    return _sweep_trash(databases, store, older_than), _sweep_orphans(databases, store, older_than)


def _sweep_trash(databases: Databases, store: BlobStore, older_than: int) -> int:
    """A file whose row is trash is referred to by nobody, and never will be again: it goes without a lock.

    Files go before their rows, so that after a crash in between the next sweep goes on. Deleting the rows of a batch is
    one statement in a transaction of its own.
    """
    due = now() - timedelta(seconds=older_than)
    trashed = select(StoredBlob.id, StoredBlob.key).where(StoredBlob.trashed_at <= due).order_by(StoredBlob.id)
    taken = last = 0
    with databases.readonly_session() as session:
        while batch := session.execute(trashed.where(StoredBlob.id > last).limit(bulk.BATCH)).all():
            _delete(store, [row.key for row in batch])
            with databases.write_session.begin() as writing:
                bulk.execute_bulk(writing, delete(StoredBlob).where(StoredBlob.id.in_([row.id for row in batch])))
            taken, last = taken + len(batch), batch[-1].id
    return taken


def _sweep_orphans(databases: Databases, store: BlobStore, older_than: int) -> int:
    """The store is walked without a lock; only for the files without a row, which are few, rows are held off.

    `_settled` makes sure that no row for a published file is still to be committed. What has no row then is a file left
    behind, or an upload that is staged and whose row comes next. Such an upload is seconds old: a request stages its
    file last before it asks for locks, each of which it awaits for `BUSY_SECONDS` at most, and a retry stages anew. So
    what is older than `GRACE_SECONDS` is none, and its file goes after the lock was given back. What is younger goes
    while the lock is held, in smaller batches: an upload whose file is taken from it then finds so when it publishes,
    before its row can be committed, and is refused.
    """
    limit = time.time() - older_than
    listed = store.keys()
    old = (key for key, changed in listed if changed <= limit)
    with databases.readonly_session() as session:
        suspects = [key for batch in bulk.batches(old) for key in _unnamed(session, batch)]
    taken = 0
    held = older_than < GRACE_SECONDS
    for at, batch in enumerate(bulk.batches(suspects, HELD if held else bulk.BATCH)):
        if at:
            time.sleep(bulk.BATCH_PAUSE_SECONDS)
        with _settled(databases) as session:
            orphans = _unnamed(session, batch)
            if held:
                _delete(store, orphans)
        if not held:
            orphans = _delete_unnamed(databases, store, orphans)
        taken += len(orphans)
    return taken


@contextmanager
def _settled(databases: Databases) -> Iterator[Session]:
    """A transaction beside which nobody stands between publishing a file and committing its row.

    The row is written before the file is published (`modhub.blobs.data_manager`), so a lock against writing rows waits
    for whoever has done so. On SQLite every transaction that writes has that lock.
    """
    with databases.write_session.begin() as session:
        if databases.dialect == "postgresql":
            session.execute(text("LOCK TABLE core_blob IN SHARE ROW EXCLUSIVE MODE"))
        yield session


def _unnamed(session: Session, keys: list[str]) -> list[str]:
    named = set(session.scalars(select(StoredBlob.key).where(StoredBlob.key.in_(keys))))
    return [key for key in keys if key not in named]


def _delete_unnamed(databases: Databases, store: BlobStore, keys: list[str]) -> list[str]:
    """Delete them, each after one more look: the file server's clock may be behind ours, and ages be wrong by that."""
    with databases.readonly_session() as session:
        gone = []
        for key in keys:
            if _unnamed(session, [key]):
                store.delete(key)
                gone.append(key)
    return gone


def _delete(store: BlobStore, keys: Iterable[str]) -> None:
    for key in keys:
        store.delete(key)


def blob_damage(session: Session, store: BlobStore) -> Iterator[str]:
    """Sentences, each with its file's key, about files that are not what their rows say; none is well.

    A file that was replaced and swept while it was waiting for its turn is no damage.
    """
    due = StoredBlob.trashed_at.is_(None)
    rows = select(StoredBlob.id, StoredBlob.key, StoredBlob.size, StoredBlob.sha256).where(due).order_by(StoredBlob.id)
    last = 0
    while batch := session.execute(rows.where(StoredBlob.id > last).limit(bulk.BATCH)).all():
        for row in batch:
            sentence = store.verify(row.key, row.size, row.sha256)
            # A blob never changes and never comes back from the trash: if it counts now, it did when it was read.
            if sentence is not None and session.scalar(select(StoredBlob.id).where(StoredBlob.id == row.id, due)):
                yield f"File {row.key}: {sentence}"
        last = batch[-1].id
