"""``sweep`` and ``verify`` for files: both read the core's one table of blobs alone (decisions 8.3)."""

import time
from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from modhub.blobs.models import StoredBlob
from modhub.blobs.store import BlobStore
from modhub.db import now

GRACE_SECONDS = 3600


def sweep(session: Session, store: BlobStore, older_than: int = GRACE_SECONDS) -> tuple[int, int]:
    """Remove replaced and deleted files, and files that no row names, once they are ``older_than`` seconds old.

    Answers (rows taken, orphans taken). Files go before their rows: after a crash in between the next sweep goes on.
    """
    due = now() - timedelta(seconds=older_than)
    trashed = session.execute(
        select(StoredBlob.id, StoredBlob.key).where(StoredBlob.trashed_at.is_not(None), StoredBlob.trashed_at <= due)
    ).all()
    for _, key in trashed:
        store.delete(key)
    for start in range(0, len(trashed), 500):
        ids = [row.id for row in trashed[start : start + 500]]
        session.execute(delete(StoredBlob).where(StoredBlob.id.in_(ids)))
    return len(trashed), _sweep_orphans(session, store, older_than)


def _sweep_orphans(session: Session, store: BlobStore, older_than: int) -> int:
    # Nobody may stand between publishing a file and committing its row: SQLite's write lock is held already.
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE core_blob IN SHARE ROW EXCLUSIVE MODE"))
    limit = time.time() - older_than
    listed = store.keys()
    found = [key for key, changed in listed if changed <= limit]
    named = set(session.scalars(select(StoredBlob.key)))
    orphans = [key for key in found if key not in named]
    for key in orphans:
        store.delete(key)
    return len(orphans)


def damage(session: Session, store: BlobStore) -> Iterator[str]:
    """Sentences, each with its file's key, about files that are not what their rows say; none is well."""
    rows = select(StoredBlob.key, StoredBlob.size, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None))
    for key, size, sha256 in session.execute(rows).all():
        sentence = store.verify(key, size, sha256)
        if sentence is not None:
            yield f"File {key}: {sentence}"
