"""``modhub-admin backup``: the rows in one snapshot, then the files that these rows name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, func, inspect, select

from modhub.admin.backup.earlier import find_earlier_backup
from modhub.admin.backup.files import BLOBS, FileCollection, FileReport
from modhub.admin.backup.manifest import (
    MANIFEST_FORMAT,
    Manifest,
    TableEntry,
    make_backup_folder,
    refuse_used_folder,
    write_manifest,
)
from modhub.admin.backup.room import BackupSize, measure_files, refuse_full_disk
from modhub.admin.backup.tables import allow_long_transaction, reflect_tables, write_table
from modhub.base.secret_fingerprints import fingerprints
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.holds import HoldPurpose, hold_files
from modhub.db import Databases, iso, now
from modhub.declarations import Migrations
from modhub.ops import migrate
from modhub.ops.progress import progress_bar

_VERSION_TABLE: Final = "_alembic_version"


@dataclass(frozen=True, slots=True)
class BackupSource:
    """What is backed up: an installation's database, its files, and what the manifest says about it."""

    databases: Databases
    store: BlobStore | None
    packages: list[Migrations]
    base_url: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FinishedBackup:
    """What a backup has, what became of its files, and the earlier backup that it shares files with."""

    manifest: Manifest
    files: FileReport
    earlier: Path | None


def create_backup(source: BackupSource, folder: Path, without: frozenset[str], *, link: bool = True) -> FinishedBackup:
    """Write a backup into a new folder; ``without`` are packages whose tables may be left out.

    ``link``: files that the newest backup beside it has are shared with that, not copied. From before the snapshot to
    the last file no sweep removes a file that the snapshot names.
    """
    migrate.with_connection(source.databases, partial(refuse_foreign_tables, source.packages, without))
    earlier = find_earlier_backup(folder) if link else None
    with snapshot(source.databases) as connection:
        _, copied = measure_files(connection, earlier)
        refuse_full_disk(connection, _tables(connection, source.packages), folder, copied)
    make_backup_folder(folder)
    try:
        return _write_backup(source, folder, earlier)
    except OSError as error:
        raise StartRefused(f"the backup could not be written: {error.strerror}; the folder is incomplete") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{folder} is an unfinished backup: remove it, and name a new folder") from None


def _write_backup(source: BackupSource, folder: Path, earlier: Path | None) -> FinishedBackup:
    with hold_files(source.databases, HoldPurpose.BACKUP):
        with snapshot(source.databases) as connection:
            revisions = {
                package.package: list(migrate.current_revisions(connection, package)) for package in source.packages
            }
            entries = _write_tables(connection, source.packages, folder)
        blobs = next((entry for entry in entries if entry.name == BLOBS), None)
        collection = FileCollection(source.store, folder, earlier)
        if blobs is not None:
            collection.collect(blobs)
    files = collection.report
    manifest = Manifest(
        format=MANIFEST_FORMAT,
        created_at=iso(now()),
        modhub=version("modhub"),
        database=source.databases.dialect,
        base_url=source.base_url,
        secrets=fingerprints(source.secrets),
        revisions=revisions,
        tables=entries,
        files=files.files,
        bytes=files.bytes,
        damaged=files.damaged,
    )
    write_manifest(folder, manifest)
    return FinishedBackup(manifest, files, earlier)


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


def _tables(connection: Connection, packages: list[Migrations]) -> list[Table]:
    return reflect_tables(connection, [package.table_prefix for package in packages])


def _write_tables(connection: Connection, packages: list[Migrations], folder: Path) -> list[TableEntry]:
    tables = _tables(connection, packages)
    with progress_bar("rows") as advance:
        return [write_table(connection, table, folder, advance) for table in tables]


def measure_backup(source: BackupSource, folder: Path, without: frozenset[str], *, link: bool = True) -> BackupSize:
    """What a backup would have now. Raises `StartRefused` where it could not be made."""
    migrate.with_connection(source.databases, partial(refuse_foreign_tables, source.packages, without))
    try:
        if folder.exists():
            refuse_used_folder(folder)
    except OSError as error:
        raise StartRefused(f"the folder {folder} cannot be used: {error.strerror}") from None
    with snapshot(source.databases) as connection:
        tables = _tables(connection, source.packages)
        rows = sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
        linked, copied = measure_files(connection, find_earlier_backup(folder) if link else None)
        refuse_full_disk(connection, tables, folder, copied)
    linked_bytes = sum(blob.size for blob in linked)
    size = linked_bytes + sum(blob.size for blob in copied)
    return BackupSize(len(tables), rows, len(linked) + len(copied), size, len(linked), linked_bytes)


def source_of(registry: Any, databases: Databases, store: BlobStore | None, packages: list[Migrations]) -> BackupSource:
    """The installation that ``registry`` configures."""
    settings = registry.settings
    return BackupSource(databases, store, packages, settings["modhub.base_url"], settings["modhub.secret"])
