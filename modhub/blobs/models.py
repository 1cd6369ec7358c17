"""The table of all blobs of all features (C-RUN-7).

A feature's row refers to a blob's row, never to a file. Replacing or deleting marks the blob as trash in the same
transaction. ``modhub-admin sweep`` removes the file after a grace period, so that downloads and backups complete.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, Select, String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.blobs.store import Blob
from modhub.db import Base, Id, Timestamp, bulk, now


class StoredBlob(Base):
    """A file in the store. ``trashed_at`` is set when nothing refers to it any more."""

    __tablename__ = "core_blob"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    trashed_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)


def create_blob_row(session: Session, blob: Blob) -> StoredBlob:
    """Create the row of a staged blob; it commits with the transaction that publishes the file."""
    row = StoredBlob(key=blob.key, size=blob.size, sha256=blob.sha256, created_at=now())
    session.add(row)
    return row


IS_LIVE: Final = StoredBlob.trashed_at.is_(None)


def live_blobs(session: Session) -> Iterator[tuple[int, Blob]]:
    """Yield the ids and values of the blobs in use, in batches by id."""
    columns = select(StoredBlob.id, StoredBlob.key, StoredBlob.size, StoredBlob.sha256).where(IS_LIVE)
    last = 0
    while batch := session.execute(columns.where(StoredBlob.id > last).order_by(StoredBlob.id).limit(bulk.BATCH)).all():
        for row in batch:
            yield row.id, Blob(row.key, row.size, row.sha256)
        last = batch[-1].id


def trash_blob(session: Session, blob_ids: Iterable[int] | Select[int]) -> None:
    """Mark blobs that nothing refers to any more as trash. Pass a query if there may be many."""
    selected = blob_ids if isinstance(blob_ids, Select) else list(blob_ids)
    bulk.execute_bulk(session, update(StoredBlob).where(StoredBlob.id.in_(selected)).values(trashed_at=now()))
