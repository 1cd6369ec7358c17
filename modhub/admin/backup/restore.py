"""``modhub-admin restore``: a backup into an empty database and an empty file store.

Files come first, then all rows in one transaction. So a restore that was killed leaves an empty database and some
files, and can simply be run again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, Table, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from modhub.admin.backup.archive import restorable_blobs
from modhub.admin.backup.manifest import Manifest, blob_file
from modhub.admin.backup.tables import (
    allow_long_transaction,
    clear_tables,
    count_rows,
    load_table,
    may_have_rows,
    reflect_tables,
)
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.holds import FileHold, HoldPurpose, hold_files
from modhub.db import Databases, database_errors, is_transient
from modhub.declarations import Migrations
from modhub.events import DatabaseRestored
from modhub.ops import migrate
from modhub.ops.progress import progress_bar


@dataclass(slots=True)
class RestoreTarget:
    """Where to restore. ``registry`` is None for a scratch database: then no feature hears of the restore."""

    databases: Databases
    store: BlobStore | None
    packages: list[Migrations]
    registry: Any = None
    notes: list[str] = field(default_factory=list)


def refuse_unfit_place(target: RestoreTarget, folder: Path, manifest: Manifest, *, has_store: bool = True) -> None:
    """`StartRefused` unless the code knows what the backup holds, and database and file store are empty.

    ``has_store``: False if the folder of the store is still to be made.
    """
    known = {package.package: package for package in target.packages}
    for name, revisions in manifest.revisions.items():
        if name not in known:
            raise StartRefused(f"the backup has the tables of {name}, which pyramid.includes does not name")
        if not _knows(known[name], revisions):
            raise StartRefused(f"the backup is newer than this code ({name}); install the newer version of modhub")
    if not database_errors.has_no_file(target.databases.readonly_engine.url):
        migrate.with_connection(target.databases, partial(_refuse_unfit_database, target.packages, manifest))
    if manifest.files and has_store:
        _refuse_other_files(target.store, folder, manifest)


def _knows(package: Migrations, revisions: list[str]) -> bool:
    return set(migrate.known_revisions(package)).issuperset(revisions)


def _refuse_unfit_database(packages: list[Migrations], manifest: Manifest, connection: Connection) -> None:
    if any(migrate.current_revisions(connection, package) for package in packages):
        _refuse_other_schema(connection, packages, manifest)
        _refuse_rows(connection, packages)


def restore(target: RestoreTarget, folder: Path, manifest: Manifest) -> None:
    """Restore a backup that has been checked into a place that has been checked."""
    try:
        with _held(target):
            _copy_files(target.store, folder, manifest)
            load_database(target, folder, manifest)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the rows are restored all together or not at all: run the command again") from None


def load_database(target: RestoreTarget, folder: Path, manifest: Manifest) -> None:
    """Make the schema of the backup, insert its rows, migrate to the schema of this code; in one transaction."""
    packages, databases = target.packages, target.databases
    try:
        with migrate.migration_lock(databases) as connection:
            for package in packages:
                for revision in manifest.revisions.get(package.package, ["head"]):
                    migrate.upgrade_package(connection, package, revision)
            tables = reflect_tables(connection, [package.table_prefix for package in packages])
            _lock(connection, tables)
            _refuse_rows(connection, packages)
            _refuse_missing_files(target.store, folder, manifest)
            _load(connection, _tables_of_backup(tables, packages, manifest), folder, manifest)
            for package in packages:
                migrate.upgrade_package(connection, package)
            _notify(target, connection, manifest)
    except SQLAlchemyError as error:
        if is_transient(error):
            raise
        reason = database_errors.driver_reason(error, databases.write_engine.url)
        raise StartRefused(f"the rows could not be restored, the database is as it was ({reason})") from None


def _tables_of_backup(tables: list[Table], packages: list[Migrations], manifest: Manifest) -> list[Table]:
    """Without those of features that the backup did not have yet: what their migrations put there stays."""
    new = tuple(package.table_prefix for package in packages if package.package not in manifest.revisions)
    return [table for table in tables if not table.name.startswith(new)]


def _load(connection: Connection, tables: list[Table], folder: Path, manifest: Manifest) -> None:
    entries = {entry.name: entry for entry in manifest.tables}
    missing = sorted(entries.keys() - {table.name for table in tables})
    if missing:
        raise StartRefused(f"the backup has the table {missing[0]}, which the included features do not have")
    clear_tables(connection, tables)
    with progress_bar("rows restored", sum(entry.rows for entry in manifest.tables)) as advance:
        for table in tables:
            if table.name in entries:
                load_table(connection, table, folder, entries[table.name], advance)
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE"))


def _notify(target: RestoreTarget, connection: Connection, manifest: Manifest) -> None:
    if target.registry is None:
        return
    with target.databases.write_session(bind=connection) as session:
        event = DatabaseRestored(session, target.registry, manifest.base_url)
        target.registry.notify(event)
        session.flush()
    target.notes.extend(event.notes)


@contextmanager
def _held(target: RestoreTarget) -> Iterator[None]:
    """Keep sweeps away. Where there are no tables yet, no sweep can run."""
    can_hold = not database_errors.has_no_file(target.databases.readonly_engine.url) and migrate.with_connection(
        target.databases, lambda connection: inspect(connection).has_table(FileHold.__tablename__)
    )
    with hold_files(target.databases, HoldPurpose.RESTORE) if can_hold else nullcontext():
        yield


def _refuse_other_schema(connection: Connection, packages: list[Migrations], manifest: Manifest) -> None:
    """Old rows become new ones by the migrations in between; so they must be loaded before those run."""
    for package in packages:
        present = list(migrate.current_revisions(connection, package))
        if present != manifest.revisions.get(package.package, present):
            raise StartRefused(
                "the database has the tables of another version than the backup: restore into a database without tables"
            )


def _refuse_rows(connection: Connection, packages: list[Migrations]) -> None:
    """Into an empty place only: there may be no more rows than migrations put there."""
    counts = count_rows(connection, [package.table_prefix for package in packages])
    filled = {name: count for name, count in counts.items() if count and not may_have_rows(name)}
    expected = _rows_of_new_tables(packages) if filled else {}
    for name, count in filled.items():
        if count > expected.get(name, 0):
            raise StartRefused(f"the database is not empty: {name} has rows; restore into an empty one")


def _rows_of_new_tables(packages: list[Migrations]) -> dict[str, int]:
    """How many rows the migrations put into each table."""
    with scratch_database() as databases:
        migrate.upgrade(databases, packages)
        with databases.readonly_engine.connect() as connection:
            return count_rows(connection, [package.table_prefix for package in packages])


@contextmanager
def scratch_database() -> Iterator[Databases]:
    """A new SQLite database that is gone at the end of the block."""
    with TemporaryDirectory(prefix="modhub-scratch-") as folder:
        databases = Databases(f"sqlite:///{folder}/scratch.sqlite")
        try:
            yield databases
        finally:
            databases.dispose()


def _lock(connection: Connection, tables: list[Table]) -> None:
    """On SQLite the transaction has the only write lock already."""
    if connection.dialect.name == "postgresql":
        allow_long_transaction(connection)
        names = ", ".join(connection.dialect.identifier_preparer.format_table(table) for table in tables)
        connection.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))


def _refuse_other_files(store: BlobStore | None, folder: Path, manifest: Manifest) -> None:
    """Files of the same backup are left from a restore that was killed: they may stay."""
    if store is None:
        raise StartRefused("the setting modhub.storage is empty, but the backup has files")
    present = dict(store.keys())
    if present and present.keys() - {blob.key for blob in restorable_blobs(folder, manifest)}:
        raise StartRefused("the file store is not empty: restore into an empty one")


def _copy_files(store: BlobStore | None, folder: Path, manifest: Manifest) -> None:
    if store is None or not manifest.files:
        return
    present = dict(store.keys())
    with progress_bar("bytes of files restored", manifest.bytes) as advance:
        for blob in restorable_blobs(folder, manifest):
            if blob.key not in present or store.verify(blob.key, blob.size, blob.sha256) is not None:
                with blob_file(folder, blob.key).open("rb") as file:
                    store.put(blob, file)
            advance(blob.size)


def _refuse_missing_files(store: BlobStore | None, folder: Path, manifest: Manifest) -> None:
    if store is None or not manifest.files:
        return
    present = dict(store.keys())
    if any(blob.key not in present for blob in restorable_blobs(folder, manifest)):
        raise StartRefused("files disappeared from the store in the meantime; run the command again")


def verify_in_scratch(
    packages: list[Migrations], checks: dict[str, Callable[[Any], Any]], folder: Path, manifest: Manifest
) -> list[str]:
    """Restore the rows into a scratch database and return what its checks find."""
    with scratch_database() as databases:
        target = RestoreTarget(databases, None, packages)
        load_database(target, folder, manifest)
        with databases.readonly_engine.connect() as connection:
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        problems = [f"A row of {row[0]} refers to a row of {row[2]} that is missing." for row in broken]
        with databases.readonly_session() as session:
            for check in checks.values():
                problems.extend(check(session))
    return problems
