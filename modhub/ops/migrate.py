"""Schema migrations: alembic without an ini file, with one version table for each package."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from modhub.db import Base, Databases, is_transient
from modhub.declarations import Migrations
from modhub.ops import database_errors
from modhub.settings import StartRefused

log = logging.getLogger(__name__)
ENV_FOLDER = Path(__file__).parents[1] / "migrations"
ADVISORY_LOCK = 0x6D6F6468
UNMAPPED = "fts_"
"""Prefix of tables and indexes that exist on one kind of database only; no model describes them."""


def _script_config(package: Migrations) -> Config:
    config = Config()
    # Alembic's config format interpolates %.
    config.set_main_option("script_location", str(ENV_FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def revision_scripts(package: Migrations) -> ScriptDirectory:
    """The revision files of ``package``."""
    scripts = ScriptDirectory.from_config(_script_config(package))
    # Only `modhub-admin` prints messages for the operator.
    scripts.messaging_opts = {"quiet": True}
    return scripts


def _config(package: Migrations, connection: Connection) -> Config:
    config = _script_config(package)
    config.attributes.update({"connection": connection, "package": package})
    return config


def include_object(package: Migrations) -> Any:
    """A filter for autogeneration: only the tables of ``package``."""

    def include(db_object: Any, name: str | None, kind: str, _reflected: bool, _compare_to: Any) -> bool:
        table = name if kind == "table" else getattr(getattr(db_object, "table", None), "name", "")
        if (name or "").startswith(UNMAPPED):
            return False
        return (table or "").startswith(package.table_prefix)

    return include


@contextmanager
def _migration_lock(databases: Databases) -> Iterator[Connection]:
    """Allow one migrating process at a time: SQLite by its write lock, PostgreSQL by an advisory lock."""
    with databases.write_engine.begin() as connection:
        if databases.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        yield connection


def upgrade(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """Bring every package to its newest revision in one transaction; returns the packages that changed.

    Raises :class:`modhub.settings.StartRefused` if the database has a revision that this code does not know.
    """
    changed = []
    with _migration_lock(databases) as connection:
        _refuse_newer(package.package for package in packages if _is_newer(connection, package))
        for package in packages:
            before = current(connection, package)
            command.upgrade(_config(package, connection), "head")
            if current(connection, package) != before:
                changed.append(package.package)
    return changed


def upgrade_or_refuse(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """As `upgrade`; failures become one sentence for the operator (:class:`modhub.settings.StartRefused`)."""
    packages = list(packages)
    # First: an unreachable database is not a failed migration.
    _with_connection(databases, lambda connection: [current(connection, package) for package in packages])
    try:
        return upgrade(databases, packages)
    except StartRefused:
        raise
    except Exception as error:
        log.debug("migrating failed", exc_info=True)
        reason = database_errors.driver_reason(error, databases.write_engine.url)
        if is_transient(error):
            raise StartRefused(f"the database cannot be written right now, nothing was migrated ({reason})") from None
        kind = "" if isinstance(error, SQLAlchemyError | CommandError) else f"{type(error).__name__}: "
        raise StartRefused(f"migrating failed and changed nothing: {kind}{reason}") from None


def current(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """The revision of ``package`` in the database."""
    context = MigrationContext.configure(connection, opts={"version_table": package.version_table})
    return tuple(context.get_current_heads())


def head(package: Migrations) -> tuple[str, ...]:
    """The newest revision of ``package``."""
    return tuple(revision_scripts(package).get_heads())


def _is_newer(connection: Connection, package: Migrations) -> bool:
    """Whether the database has a revision of ``package`` that this code does not know."""
    current_revisions = current(connection, package)
    known_revisions = {script.revision for script in revision_scripts(package).walk_revisions()}
    return not known_revisions.issuperset(current_revisions)


def behind(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """The packages whose tables are not at their newest revision."""
    with databases.readonly_engine.connect() as connection:
        return _behind(connection, packages)


def _behind(connection: Connection, packages: Iterable[Migrations]) -> list[str]:
    return [package.package for package in packages if current(connection, package) != head(package)]


def _with_connection(databases: Databases, query: Callable[[Connection], Any]) -> Any:
    """Call ``query`` with a connection. Database errors become one sentence for the operator and close every one."""
    url = databases.readonly_engine.url
    try:
        with databases.readonly_engine.connect() as connection:
            return query(connection)
    except SQLAlchemyError as error:
        databases.dispose()
        if isinstance(error, OperationalError):
            raise StartRefused(database_errors.unreachable_database(error, url)) from None
        raise StartRefused(f"the database cannot be used: {database_errors.driver_reason(error, url)}") from None


def refuse_when_behind(databases: Databases, packages: Iterable[Migrations], ini: str = "YOUR.ini") -> None:
    """Stop the start if the schema is older than this code, or newer; then all connections are closed.

    Checking creates no file: a missing SQLite database is left to the migration.
    """
    packages = list(packages)

    def find_outdated(connection: Connection) -> tuple[list[str], list[str]]:
        newer = [package.package for package in packages if _is_newer(connection, package)]
        return newer, _behind(connection, packages)

    if database_errors.has_no_file(databases.readonly_engine.url):
        newer, outdated = [], [package.package for package in packages]
    else:
        newer, outdated = _with_connection(databases, find_outdated)
    if not outdated:
        return
    databases.dispose()
    _refuse_newer(newer)
    raise StartRefused(f"the database is behind ({', '.join(outdated)}); run: modhub-admin -c {ini} migrate")


def _refuse_newer(packages: Iterable[str]) -> None:
    if names := ", ".join(packages):
        raise StartRefused(f"the database is newer than this code ({names}); install the newer version of modhub")


def schema_differences(databases: Databases, package: Migrations) -> list[Any]:
    """What autogeneration would still change for ``package``; empty if models and migrations agree."""
    with databases.readonly_engine.connect() as connection:
        options = {
            "version_table": package.version_table,
            "include_object": include_object(package),
            "compare_type": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        differences: list[Any] = compare_metadata(context, Base.metadata)
        return differences
