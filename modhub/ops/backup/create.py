"""``modhub-admin backup``: the rows in one snapshot, then the files that these rows name."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, func, inspect, select

from modhub.blobs import BlobStore
from modhub.blobs.holds import HoldPurpose, hold_files
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import COPY_BYTES, Blob
from modhub.db import Databases, iso, now
from modhub.declarations import Migrations
from modhub.errors import ApiError
from modhub.ops import migrate
from modhub.ops.backup.manifest import (
    MANIFEST_FORMAT,
    Manifest,
    TableEntry,
    blob_file,
    fingerprints,
    make_backup_folder,
    new_file,
    refuse_used_folder,
    write_manifest,
)
from modhub.ops.backup.tables import allow_long_transaction, read_rows, reflect_tables, write_table
from modhub.ops.progress import ProgressDisplay
from modhub.settings import StartRefused

BLOBS: Final = StoredBlob.__tablename__
_VERSION_TABLE: Final = "_alembic_version"


@dataclass(frozen=True, slots=True)
class BackupSource:
    """What is backed up: an installation's database, its files, and what the manifest says about it."""

    databases: Databases
    store: BlobStore | None
    packages: list[Migrations]
    base_url: str
    secrets: tuple[str, ...]


def create_backup(source: BackupSource, folder: Path, without: frozenset[str], progress: ProgressDisplay) -> Manifest:
    """Write a backup into a new folder; ``without`` are packages whose tables may be left out.

    From before the snapshot to the last file no sweep removes a file that the snapshot names.
    """
    migrate.with_connection(source.databases, partial(refuse_foreign_tables, source.packages, without))
    make_backup_folder(folder)
    try:
        return _write_backup(source, folder, progress)
    except OSError as error:
        raise StartRefused(f"the backup could not be written: {error.strerror}; the folder is incomplete") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{folder} is an unfinished backup: remove it, and name a new folder") from None


def _write_backup(source: BackupSource, folder: Path, progress: ProgressDisplay) -> Manifest:
    with hold_files(source.databases, HoldPurpose.BACKUP):
        with snapshot(source.databases) as connection:
            revisions = {package.package: list(migrate.current(connection, package)) for package in source.packages}
            entries = _write_tables(connection, source.packages, folder, progress)
        blobs = next((entry for entry in entries if entry.name == BLOBS), None)
        copied = _FileCopy(source.store, folder, progress)
        if blobs is not None:
            copied.copy_all(folder, blobs)
    manifest = Manifest(
        format=MANIFEST_FORMAT,
        created_at=iso(now()),
        modhub=version("modhub"),
        database=source.databases.dialect,
        base_url=source.base_url,
        secrets=fingerprints(source.secrets),
        revisions=revisions,
        tables=entries,
        files=copied.count,
        bytes=copied.bytes,
        damaged=copied.damaged,
    )
    write_manifest(folder, manifest)
    return manifest


@contextmanager
def snapshot(databases: Databases) -> Iterator[Connection]:
    """A connection that reads the database as it is at one moment, and locks nobody out."""
    with databases.readonly_engine.connect() as connection:
        if databases.dialect == "sqlite":
            connection.exec_driver_sql("BEGIN")
            try:
                yield connection
            finally:
                connection.exec_driver_sql("ROLLBACK")
            return
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with connection.execution_options(**options).begin():
            allow_long_transaction(connection)
            yield connection


def refuse_foreign_tables(packages: list[Migrations], without: frozenset[str], connection: Connection) -> None:
    """A package that the ini no longer includes would be missing in the backup, silently: `StartRefused`."""
    known = {package.version_table for package in packages} | {f"{name}{_VERSION_TABLE}" for name in without}
    names = set(inspect(connection).get_table_names()) - known
    missing = sorted(name.removesuffix(_VERSION_TABLE) for name in names if name.endswith(_VERSION_TABLE))
    if missing:
        raise StartRefused(
            f"the database also has tables of {missing[0]}, which pyramid.includes does not name: "
            f"name it there, or leave its tables out with --without {missing[0]}"
        )


def _write_tables(
    connection: Connection, packages: list[Migrations], folder: Path, progress: ProgressDisplay
) -> list[TableEntry]:
    tables = reflect_tables(connection, [package.table_prefix for package in packages])
    with progress.of("rows") as advance:
        return [write_table(connection, table, folder, advance) for table in tables]


def live_blobs(folder: Path, entry: TableEntry) -> Iterator[Blob]:
    """The files that the rows of a backup name; one that is trash is none of them."""
    at = {column.name: index for index, column in enumerate(entry.columns)}
    for row in read_rows(folder, entry):
        if row[at["trashed_at"]] is None:
            yield Blob(row[at["key"]], row[at["size"]], row[at["sha256"]])


class _FileCopy:
    """Copies files from the store and counts them."""

    def __init__(self, store: BlobStore | None, folder: Path, progress: ProgressDisplay) -> None:
        self.count = self.bytes = 0
        self.damaged: list[str] = []
        self._store = store
        self._folder = folder
        self._progress = progress

    def copy_all(self, folder: Path, entry: TableEntry) -> None:
        """Copy every file that the rows name. A damaged one is left out; a store that is away ends the backup."""
        total = sum(blob.size for blob in live_blobs(folder, entry))
        with self._progress.of("bytes of files", total) as advance:
            for blob in live_blobs(folder, entry):
                if self._store is None:
                    raise StartRefused("the setting modhub.storage is empty, but the database names files")
                if self._copy(self._store, blob):
                    self.count += 1
                    self.bytes += blob.size
                else:
                    # Raises if it is not the file but the store.
                    self._store.probe()
                    self.damaged.append(blob.key)
                advance(blob.size)

    def _copy(self, store: BlobStore, blob: Blob) -> bool:
        try:
            source = store.open(blob.key, blob.size, blob.sha256)
        except ApiError:
            return False
        path = blob_file(self._folder, blob.key)
        digest = hashlib.sha256()
        with source:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with new_file(path) as target:
                while chunk := source.read(COPY_BYTES):
                    digest.update(chunk)
                    target.write(chunk)
        if digest.hexdigest() != blob.sha256:
            path.unlink()
            return False
        return True


def measure_backup(source: BackupSource, folder: Path, without: frozenset[str]) -> tuple[int, int]:
    """The tables and rows that a backup would have now. Raises `StartRefused` where it could not be made."""
    migrate.with_connection(source.databases, partial(refuse_foreign_tables, source.packages, without))
    try:
        if folder.exists():
            refuse_used_folder(folder)
    except OSError as error:
        raise StartRefused(f"the folder {folder} cannot be used: {error.strerror}") from None
    with snapshot(source.databases) as connection:
        tables = reflect_tables(connection, [package.table_prefix for package in source.packages])
        rows = sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
    return len(tables), rows


def source_of(registry: Any, databases: Databases, store: BlobStore | None, packages: list[Migrations]) -> BackupSource:
    """The installation that ``registry`` configures."""
    settings = registry.settings
    return BackupSource(databases, store, packages, settings["modhub.base_url"], settings["modhub.secret"])
