"""How large a backup will be, and whether its disk can hold it: known before anything is written."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table, select, text

from modhub.admin.backup.earlier import existing_folder, has_size
from modhub.base.settings import StartRefused
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import Blob
from modhub.content.limits import MB

DISK_BLOCK: Final = 4096
"""Bytes by which files take space on a disk."""


@dataclass(frozen=True, slots=True)
class BackupSize:
    """What a backup would have now."""

    tables: int
    rows: int
    files: int
    bytes: int
    linked: int
    linked_bytes: int


def measure_files(connection: Connection, earlier: Path | None) -> tuple[list[Blob], list[Blob]]:
    """The files that would be linked to the earlier backup, and those that would be copied."""
    live = select(StoredBlob.key, StoredBlob.size, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None))
    linked, copied = list[Blob](), list[Blob]()
    for row in connection.execute(live):
        blob = Blob(row.key, row.size, row.sha256)
        (linked if earlier is not None and has_size(earlier, blob) else copied).append(blob)
    return linked, copied


def refuse_full_disk(connection: Connection, tables: list[Table], folder: Path, copied: list[Blob]) -> None:
    """`StartRefused` where the files to be copied and the rows need more than the disk of ``folder`` has free.

    The rows count with the size of their tables in the database: as JSON they take less
    (ADR 026).
    """
    needed = _table_bytes(connection, tables) + sum(-(-blob.size // DISK_BLOCK) * DISK_BLOCK for blob in copied)
    free = shutil.disk_usage(existing_folder(folder)).free
    if needed > free:
        raise StartRefused(
            f"the disk of {folder} has {_megabytes(free)} free, and the backup needs {_megabytes(needed)}: "
            "remove old backups, or name a folder on a larger disk"
        )


def _table_bytes(connection: Connection, tables: list[Table]) -> int:
    if connection.dialect.name == "sqlite":
        pages, free_pages, page_size = (
            connection.scalar(text(f"PRAGMA {name}")) or 0 for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free_pages) * page_size)
    quoted = connection.dialect.identifier_preparer.format_table
    statement = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")
    return sum(connection.scalar(statement, {"name": quoted(table)}) or 0 for table in tables)


def _megabytes(size: int) -> str:
    return f"{-(-size // MB):,} MB"
