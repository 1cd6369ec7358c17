"""Dumps by the databases' own tools: ``pg_dump`` and ``pg_restore``, and SQLite's online backup."""

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from subprocess import PIPE
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO, Any, Final, NamedTuple

from sqlalchemy import URL, Connection, String, column, create_engine, inspect, select, table, text
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.settings import StartRefused
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import Blob
from modhub.db import Base, DatabaseLimits, Databases
from modhub.db.database_errors import driver_reason
from modhub.plugins.declarations import Migrations

# What others have in the database could not be restored by our role. plpgsql is always there, and never dumped: that
# nothing matches would be an error.
_OURS: Final = (
    *("--format=custom", "--extension=pg_trgm", "--extension=plpgsql"),
    *("--no-publications", "--no-subscriptions", "--no-comments"),
)


class Dumped(NamedTuple):
    """What a dump has: the revisions of packages, and the files that its rows name."""

    revisions: dict[str, list[str]]
    blobs: list[Blob]


def read_dumped(connection: Connection) -> Dumped:
    """What a dump of this database has."""
    names, revisions = inspect(connection).get_table_names(), dict[str, list[str]]()
    if StoredBlob.__tablename__ not in names:
        raise StartRefused("the database has no tables of modhub")
    for name in names:
        if name.endswith("_alembic_version"):
            version = select(column("version_num", String)).select_from(table(name))
            revisions[name.removesuffix("_alembic_version")] = sorted(connection.scalars(version))
    live = select(StoredBlob.key, StoredBlob.size, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None))
    return Dumped(revisions, [Blob(*row) for row in connection.execute(live)])


def _left_out(dumped: Dumped) -> set[str]:
    """The tables whose rows no backup may hold, also those of features that the ini does not name.

    A model says so by ``__table_args__ = {"info": {"in_backup": False}}``.
    """
    for package in dumped.revisions:
        with suppress(ModuleNotFoundError):  # it is not installed any more
            import_module(f"{package}.models")
    return {table.name for table in Base.metadata.sorted_tables if not table.info.get("in_backup", True)}


def refuse_unnamed(dumped: Iterable[str], packages: Iterable[Migrations]) -> None:
    """`StartRefused` if there are rows of a package that the ini does not name: what follows would leave them as is."""
    if unnamed := sorted(set(dumped) - {package.package for package in packages}):
        raise StartRefused(f"pyramid.includes does not name {', '.join(unnamed)}, whose rows are there: name all")


def dump_database(databases: Databases, path: Path) -> Dumped:
    """Write the database as it is at one moment, without the rows that no backup may hold."""
    if databases.dialect == "sqlite":
        return _dump_sqlite(databases, path)
    engine = databases.readonly_engine.execution_options(isolation_level="REPEATABLE READ")
    with path.open("xb") as file, engine.begin() as connection:
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        dumped = read_dumped(connection)
        snapshot = connection.scalar(text("SELECT pg_export_snapshot()"))
        left_out = [f"--exclude-table-data={name}" for name in _left_out(dumped)]
        run_program(databases, "pg_dump", f"--snapshot={snapshot}", *_OURS, *left_out, output=file)
    return dumped


def _dump_sqlite(databases: Databases, path: Path) -> Dumped:
    engine = create_engine(URL.create("sqlite", database=str(path)), isolation_level="AUTOCOMMIT")
    with databases.readonly_engine.connect() as source, engine.connect() as copy:
        driver_connection: Any = source.connection.driver_connection
        driver_connection.backup(copy.connection.driver_connection)
        copy.exec_driver_sql("PRAGMA journal_mode = DELETE")
        dumped = read_dumped(copy)
        for name in _left_out(dumped).intersection(inspect(copy).get_table_names()):
            copy.execute(table(name).delete())
        copy.exec_driver_sql("VACUUM")  # until then it is in the bytes
    engine.dispose()
    return dumped


def load_database(databases: Databases, path: Path) -> None:
    """Load a dump into an empty database: all of it or nothing."""
    if databases.dialect == "postgresql":
        options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
        run_program(databases, "pg_restore", *options, str(path))
        return
    target = str(databases.write_engine.url.database)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
    dump = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(dump, uri=True)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


@contextmanager
def scratch_database(databases: Databases) -> Iterator[Databases | None]:
    """A database that is gone at the end of the block; None if the role of PostgreSQL may not create one.

    PostgreSQL's has always the same name: what a run that was killed has left goes with the next one.
    """
    if databases.dialect == "sqlite":
        with TemporaryDirectory() as folder, disposing(f"sqlite:///{folder}/scratch") as scratch:
            yield scratch
        return
    url = databases.write_engine.url
    name = f"{url.database}_backup_check"
    quoted = databases.write_engine.dialect.identifier_preparer.quote_identifier(name)
    with databases.write_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.scalar(text("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")):
            yield None
            return
        connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {quoted} WITH (FORCE)")
        connection.exec_driver_sql(f"CREATE DATABASE {quoted} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            with disposing(url.set(database=name).render_as_string(hide_password=False), databases.limits) as scratch:
                yield scratch
        finally:
            connection.exec_driver_sql(f"DROP DATABASE {quoted} WITH (FORCE)")


@contextmanager
def disposing(url: str, limits: DatabaseLimits | None = None) -> Iterator[Databases]:
    """Another database, whose connections are closed at the end of the block."""
    databases = Databases(url, limits)
    try:
        yield databases
    finally:
        databases.dispose()


@contextmanager
def in_one_sentence(databases: Databases, what: str) -> Iterator[None]:
    """Errors of disks and databases become one sentence, which begins with ``what``."""
    try:
        yield
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        reason = getattr(error, "strerror", None) or driver_reason(error, databases.write_engine.url)
        raise StartRefused(f"{what} ({reason})") from None


def run_program(databases: Databases, program: str, *words: str, output: IO[bytes] | None = None) -> None:
    """Run a program of PostgreSQL on the database; `StartRefused` with its first error.

    The password is in a file: a list of processes would show it. `pg_dump` checks that it is as new as the server.
    """
    engine = databases.write_engine
    driver: Any = engine.dialect.loaded_dbapi
    _, options = engine.dialect.create_connect_args(engine.url)
    password = options.pop("password", "")
    options.pop("context", None)  # the driver's own
    command = [program, *words, "--no-password", f"--dbname={driver.conninfo.make_conninfo(**options)}"]
    environ = {**os.environ, "LC_ALL": "C"}
    with NamedTemporaryFile("w", prefix="modhub-pgpass-", encoding="utf-8") as file:
        if password:
            file.write("*:*:*:*:" + re.sub(r"[\\:]", r"\\\g<0>", password) + "\n")
            file.flush()
            environ |= {"PGPASSFILE": file.name, "PGPASSWORD": ""}
        try:
            done = subprocess.run(command, env=environ, stdout=output or PIPE, stderr=PIPE, check=False)  # noqa: S603
        except OSError as error:
            raise StartRefused(f"{program} cannot be run ({error.strerror}): install postgresql-client") from None
    if done.returncode:
        errors = done.stderr.decode("utf-8", "replace")
        lines = re.findall(r"^\w+: (?:error|detail): (.*)$", errors, re.MULTILINE) or [errors]
        raise StartRefused(f"{program} failed: {driver_reason(RuntimeError('; '.join(lines[:2])), engine.url)}")
