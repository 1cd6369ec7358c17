"""Schema migrations: alembic without an ini file, one version table for each package."""

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
"""Tables and indexes that one kind of database alone has; no model describes them."""


def _script(package: Migrations) -> Config:
    config = Config()
    # Alembic's own file format takes a % for the beginning of a name.
    config.set_main_option("script_location", str(ENV_FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def revision_scripts(package: Migrations) -> ScriptDirectory:
    """The revision files of ``package``."""
    scripts = ScriptDirectory.from_config(_script(package))
    # What is said to the operator is said by `modhub-admin` alone.
    scripts.messaging_opts = {"quiet": True}
    return scripts


def _config(package: Migrations, connection: Connection) -> Config:
    config = _script(package)
    config.attributes.update({"connection": connection, "package": package})
    return config


def include_object(package: Migrations) -> Any:
    """What autogeneration may look at: the tables of ``package`` alone."""

    def include(thing: Any, name: str | None, kind: str, _reflected: bool, _compare_to: Any) -> bool:
        table = name if kind == "table" else getattr(getattr(thing, "table", None), "name", "")
        if (name or "").startswith(UNMAPPED):
            return False
        return (table or "").startswith(package.table_prefix)

    return include


@contextmanager
def _alone(databases: Databases) -> Iterator[Connection]:
    """One migrating process at a time: SQLite by its write lock, PostgreSQL by an advisory lock."""
    with databases.write_engine.begin() as connection:
        if databases.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        yield connection


def upgrade(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """Bring every package to its newest revision in one transaction; answers the packages that changed.

    Raises :class:`modhub.settings.StartRefused` when the database has a revision that this code does not know.
    """
    changed = []
    with _alone(databases) as connection:
        _refuse_newer(package.package for package in packages if _is_newer(connection, package))
        for package in packages:
            before = current(connection, package)
            command.upgrade(_config(package, connection), "head")
            if current(connection, package) != before:
                changed.append(package.package)
    return changed


def upgrade_or_say(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """As `upgrade`; what fails is one sentence to the operator (:class:`modhub.settings.StartRefused`)."""
    known = list(packages)
    # A database that cannot be had is no fault of a migration.
    _connected(databases, lambda connection: [current(connection, package) for package in known])
    try:
        return upgrade(databases, known)
    except StartRefused:
        raise
    except Exception as problem:
        log.debug("migrating failed", exc_info=True)
        why = database_errors.driver_reason(problem, databases.write_engine.url)
        if is_transient(problem):
            raise StartRefused(f"the database takes no writing just now, nothing was migrated ({why})") from None
        kind = "" if isinstance(problem, SQLAlchemyError | CommandError) else f"{type(problem).__name__}: "
        raise StartRefused(f"migrating failed and changed nothing: {kind}{why}") from None


def current(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """The revision that the database has of ``package``."""
    context = MigrationContext.configure(connection, opts={"version_table": package.version_table})
    return tuple(context.get_current_heads())


def head(package: Migrations) -> tuple[str, ...]:
    """The newest revision of ``package``."""
    return tuple(revision_scripts(package).get_heads())


def _is_newer(connection: Connection, package: Migrations) -> bool:
    """Whether the database has a revision of ``package`` that is none of this code's."""
    found = current(connection, package)
    known = {script.revision for script in revision_scripts(package).walk_revisions()}
    return not known.issuperset(found)


def behind(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """The packages whose tables are not at their newest revision."""
    with databases.readonly_engine.connect() as connection:
        return _behind(connection, packages)


def _behind(connection: Connection, packages: Iterable[Migrations]) -> list[str]:
    return [package.package for package in packages if current(connection, package) != head(package)]


def _connected(databases: Databases, ask: Callable[[Connection], Any]) -> Any:
    """What ``ask`` finds. A database that cannot be had is a sentence to the operator, and no connection stays open."""
    url = databases.readonly_engine.url
    try:
        with databases.readonly_engine.connect() as connection:
            return ask(connection)
    except SQLAlchemyError as problem:
        databases.dispose()
        if isinstance(problem, OperationalError):
            raise StartRefused(database_errors.unreachable_database(problem, url)) from None
        raise StartRefused(f"the database cannot be used: {database_errors.driver_reason(problem, url)}") from None


def refuse_when_behind(databases: Databases, packages: Iterable[Migrations], ini: str = "YOUR.ini") -> None:
    """Stop the start when the schema is older than this code, or newer; no connection stays open then.

    Asking makes no file: where SQLite has none yet, whoever migrates makes it.
    """
    known = list(packages)

    def ask(connection: Connection) -> tuple[list[str], list[str]]:
        newer = [package.package for package in known if _is_newer(connection, package)]
        return newer, _behind(connection, known)

    if database_errors.has_no_file(databases.readonly_engine.url):
        newer, late = [], [package.package for package in known]
    else:
        newer, late = _connected(databases, ask)
    if not late:
        return
    databases.dispose()
    _refuse_newer(newer)
    raise StartRefused(f"the database is behind ({', '.join(late)}); run: modhub-admin -c {ini} migrate")


def _refuse_newer(packages: Iterable[str]) -> None:
    if names := ", ".join(packages):
        raise StartRefused(f"the database is newer than this code ({names}); install the newer version of modhub")


def schema_differences(databases: Databases, package: Migrations) -> list[Any]:
    """What autogeneration would still change for ``package``; empty when models and migrations agree."""
    with databases.readonly_engine.connect() as connection:
        options = {
            "version_table": package.version_table,
            "include_object": include_object(package),
            "compare_type": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        found: list[Any] = compare_metadata(context, Base.metadata)
        return found
