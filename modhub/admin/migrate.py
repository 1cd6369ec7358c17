"""Schema migrations: alembic without an ini file, with one version table for each package.

Every start compares the version tables with the names of the revision files; alembic is imported by what migrates.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, column, inspect, select, table, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from modhub.base.settings import StartRefused
from modhub.db import Databases, database_errors, is_transient, session_limits
from modhub.plugins.declarations import Migrations

log = logging.getLogger(__name__)
Found = TypeVar("Found")
ENV_FOLDER = Path(__file__).parents[1] / "migrations"
ADVISORY_LOCK = 0x6D6F6468
_BEHIND_POOLER = "which takes the limits of time away: name the server's own address in sqlalchemy.url"


def _alembic() -> Any:
    """Alembic, imported by what migrates: it brings Mako and lexers of Pygments, which no service needs."""
    import alembic.command  # noqa: PLC0415 - ADR 049
    import alembic.config  # noqa: PLC0415

    return alembic


def known_revisions(package: Migrations) -> list[str]:
    """The revisions of ``package`` in this code, the newest last: ``core_0002`` is the file ``core_0002_words.py``."""
    pattern = re.compile(re.escape(package.table_prefix) + r"\d{4}")
    names = (pattern.match(path.name) for path in (Path(package.folder) / "versions").glob("*.py"))
    return sorted(name[0] for name in names if name)


def current_revisions(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """The revision of ``package`` in the database; none before the first migration."""
    if not inspect(connection).has_table(package.version_table):
        return ()
    return tuple(connection.scalars(select(column("version_num")).select_from(table(package.version_table))))


def compare_schema(connection: Connection, packages: Iterable[Migrations]) -> tuple[list[str], list[str]]:
    """(the packages whose tables are older than this code, those whose tables are newer)."""
    behind, newer = [], []
    for package in packages:
        current, known = set(current_revisions(connection, package)), known_revisions(package)
        if not current <= set(known):
            newer.append(package.package)
        elif current != set(known[-1:]):
            behind.append(package.package)
    return behind, newer


def _refuse_newer(newer: list[str]) -> None:
    if newer:
        names = ", ".join(newer)
        raise StartRefused(f"the database is newer than this code ({names}); install the newer version of modhub")


@contextmanager
def migration_lock(databases: Databases) -> Iterator[Connection]:
    """Allow one migrating process at a time: SQLite by its write lock, PostgreSQL by an advisory lock."""
    with databases.write_engine.connect() as connection, _without_cascades(connection), connection.begin():
        if databases.dialect == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        yield connection


@contextmanager
def _without_cascades(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by copying and dropping it, which would delete the rows that refer to it."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver_connection: Any = connection.connection.driver_connection
    driver_connection.execute("PRAGMA foreign_keys = OFF")  # no effect within a transaction
    try:
        yield
    finally:
        driver_connection.execute("PRAGMA foreign_keys = ON")


def upgrade(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """Bring every package to its newest revision in one transaction; returns the packages that changed.

    Raises `StartRefused` if the database has a revision that this code does not know.
    """
    packages = list(packages)
    with migration_lock(databases) as connection:
        behind, newer = compare_schema(connection, packages)
        _refuse_newer(newer)
        for package in packages:
            if package.package in behind:
                upgrade_package(connection, package)
        if behind and databases.dialect == "sqlite" and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
            raise StartRefused("migrating failed and changed nothing: rows would refer to what is not there")
    return behind


def upgrade_package(connection: Connection, package: Migrations, revision: str = "head") -> None:
    """Bring one package to ``revision``."""
    config = _alembic().config.Config()
    # Alembic's config format interpolates %.
    config.set_main_option("script_location", str(ENV_FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes.update({"connection": connection, "package": package})
    _alembic().command.upgrade(config, revision)


def upgrade_or_refuse(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """As `upgrade`; failures become one sentence for the operator (:class:`modhub.base.settings.StartRefused`)."""
    packages = list(packages)
    # First: an unreachable database is not a failed migration.
    with_connection(databases, lambda connection: compare_schema(connection, packages))
    try:
        return upgrade(databases, packages)
    except StartRefused:
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt("everything was migrated or nothing: run the command again") from None
    except Exception as error:
        log.debug("migrating failed", exc_info=True)
        reason = database_errors.driver_reason(error, databases.write_engine.url)
        if is_transient(error):
            raise StartRefused(f"the database cannot be written right now, nothing was migrated ({reason})") from None
        kind = "" if isinstance(error, SQLAlchemyError | _alembic().util.CommandError) else f"{type(error).__name__}: "
        raise StartRefused(f"migrating failed and changed nothing: {kind}{reason}") from None


def with_connection(databases: Databases, query: Callable[[Connection], Found]) -> Found:
    """Call ``query`` with a connection. Database errors become one sentence for the operator."""
    url = databases.readonly_engine.url
    try:
        with databases.readonly_engine.connect() as connection:
            if sentence := database_errors.old_server(connection.dialect):
                raise StartRefused(sentence)
            if session_limits.is_behind_pooler(connection):
                raise StartRefused(f"the database is behind a pooler, {_BEHIND_POOLER}")
            return query(connection)
    except SQLAlchemyError as error:
        if isinstance(error, OperationalError):
            raise StartRefused(database_errors.unreachable_database(error, url)) from None
        raise StartRefused(f"the database cannot be used: {database_errors.driver_reason(error, url)}") from None


def packages_behind(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """The packages whose tables are older than this code. Raises `StartRefused` if some are newer.

    Asking creates no file: a missing SQLite database is left to the migration.
    """
    if databases.has_no_file:
        return [package.package for package in packages]
    behind, newer = with_connection(databases, lambda connection: compare_schema(connection, packages))
    _refuse_newer(newer)
    return behind


def refuse_when_behind(databases: Databases, packages: Iterable[Migrations], ini: str = "YOUR.ini") -> None:
    """Stop the start if the schema is older than this code, or newer."""
    if behind := packages_behind(databases, packages):
        raise StartRefused(f"the database is behind ({', '.join(behind)}); run: modhub-admin -c {ini} migrate")
