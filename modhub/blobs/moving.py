"""Copy all files from one store to another while the service runs (``modhub-admin move-storage``)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError
from modhub.blobs.models import IS_LIVE, StoredBlob, live_blobs
from modhub.blobs.store import Blob, BlobStore
from modhub.db import Databases

MAX_PASSES: Final = 10
"""Each pass copies what was uploaded during the one before."""


@dataclass(slots=True)
class MoveResult:
    """What a move has done."""

    copied: int = 0
    copied_bytes: int = 0
    present: int = 0
    """Files that the new store had already, with the right content."""
    damaged: list[Blob] = field(default_factory=list)
    """Files that the old store does not have whole."""


def count_live(session: Session) -> tuple[int, int]:
    """The number of files in use, and their bytes together."""
    count, size = session.execute(select(func.count(), func.sum(StoredBlob.size)).where(IS_LIVE)).one()
    return count, size or 0


def copy_store(
    databases: Databases, source: BlobStore, target: BlobStore, advance: Callable[[int], None]
) -> MoveResult:
    """Copy every file in use under its own key and check it, until nothing new has been uploaded in the meantime.

    The old store is only read. What the new one has already is checked, not copied: so a move that was killed continues
    where it was. 502 or 503 if one of the stores fails.
    """
    result, done = MoveResult(), set[int]()
    present = dict(target.keys())
    with databases.readonly_session() as session:
        for _ in range(MAX_PASSES):
            found_new = False
            for row_id, blob in live_blobs(session):
                if row_id not in done:
                    done.add(row_id)
                    found_new = True
                    _copy(session, source, target, blob, result, is_present=blob.key in present)
                    advance(blob.size)
            if not found_new:
                break
    return result


def _copy(
    session: Session, source: BlobStore, target: BlobStore, blob: Blob, result: MoveResult, *, is_present: bool
) -> None:
    if is_present and target.verify(blob.key, blob.size, blob.sha256) is None:
        result.present += 1
        return
    try:
        file = source.open(blob.key, blob.size, blob.sha256)
    except ApiError:
        # Read something, without writing: 503 if it is the store that is away.
        next(iter(source.keys()), None)
        # It may have been deleted since its row was read.
        if session.scalar(select(StoredBlob.id).where(StoredBlob.key == blob.key, IS_LIVE)) is not None:
            result.damaged.append(blob)
        return
    with file:
        target.put(blob, file)
    result.copied += 1
    result.copied_bytes += blob.size
