"""Anonymous reads of snapshots."""

import re
from datetime import timedelta
from typing import Any, Final

from msgspec.structs import asdict
from sqlalchemy import bindparam, select

from modhub.blobs.models import StoredBlob
from modhub.db import from_micros, now, to_micros
from modhub.db.changes import Generation, PublicChange
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.web.downloads import REVALIDATE, StoredFile
from modhub_sync.models import Snapshot
from modhub_sync.response_schemas import SnapshotDocument
from modhub_sync.signing import SigningKey
from modhub_sync.snapshots import HAS_LOST_MODS

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


class SnapshotReader:
    """Reads the newest snapshot and its file."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader

    def pointer(self, key: SigningKey) -> SnapshotDocument | None:
        """The pointer to the newest snapshot, signed if there is a key; None before the first."""
        rows = self._rows(_NEWEST)
        if not rows:
            return None
        serial, _, size, sha256, _, feed = rows[0]
        pointer = SnapshotDocument(serial, feed, f"/Modhub/snapshot/{sha256}", size, sha256, None)
        fields = asdict(pointer)
        del fields["signature"]
        pointer.signature = key.sign(fields)
        return pointer

    def file(self, sha256: str) -> StoredFile | None:
        """The file with this SHA-256; None if there is no such snapshot, or no longer."""
        rows = self._rows(_FILE, sha256=sha256) if _SHA256.fullmatch(sha256) else []
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

    def _rows(self, statement: PreparedQuery, **values: Any) -> list[Row]:
        return self._reader.rows(statement, **values, deleted_before=to_micros(now() - DELETED_FOR))
