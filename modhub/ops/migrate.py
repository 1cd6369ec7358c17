"""Schema migrations: alembic without an ini file, with one version table for each package."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from modhub.base.settings import StartRefused
from modhub.db import Base, Databases, database_errors, is_transient, session_limits
from modhub.declarations import Migrations
from modhub.ops import compatibility
from modhub.ops.revisions import current_revisions, last_of_a_roll
from modhub.ops.schema_state import SchemaState, packages_in, refuse_newer, schema_states

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

log = logging.getLogger(__name__)
Found = TypeVar("Found")
ENV_FOLDER = Path(__file__).parents[1] / "migrations"
ADVISORY_LOCK = 0x6D6F6468
UNMAPPED = "fts_"
"""Prefix of tables and indexes that exist on one kind of database only; no model describes them."""


def _alembic() -> Any:
    """Alembic, imported by what migrates: it brings Mako and lexers of Pygments, which no service needs."""
    import alembic.command  # noqa: PLC0415 - ADR 049
    import alembic.config  # noqa: PLC0415

    return alembic


def _script_config(package: Migrations) -> "Config":
    config: Config = _alembic().config.Config()
    # Alembic's config format interpolates %.
    config.set_main_option("script_location", str(ENV_FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def revision_scripts(package: Migrations) -> "ScriptDirectory":
    """The revision files of ``package``."""
    scripts: ScriptDirectory = _alembic().script.ScriptDirectory.from_config(_script_config(package))
    # Only `modhub-admin` prints messages for the operator.
    scripts.messaging_opts = {"quiet": True}
    return scripts


def _config(package: Migrations, connection: Connection) -> "Config":
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
def migration_lock(databases: Databases) -> Iterator[Connection]:
    """Allow one migrating process at a time: SQLite by its write lock, PostgreSQL by an advisory lock."""
    with databases.write_engine.begin() as connection:
        if databases.dialect == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        yield connection


def upgrade(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """Bring every package to its newest revision in one transaction; returns the packages that changed.

    A contraction may be left to the next run (`last_of_a_roll`). A compatible newer schema is left as it is. Raises
    `StartRefused` if the database has a revision that this code does not know, and that is not
    compatible with it.
    """
    changed = []
    with migration_lock(databases) as connection:
        states = schema_states(connection, packages)
        refuse_newer(states)
        for package, state in states.items():
            if state in (SchemaState.BEHIND, SchemaState.CONTRACTS_LATER):
                upgrade_package(connection, package, last_of_a_roll(package, current_revisions(connection, package)))
                changed.append(package.package)
        for package, state in states.items():
            # Again for those that were up to date: the table may be new.
            if state is not SchemaState.COMPATIBLE:
                record_applied(connection, package)
    return changed


def upgrade_package(connection: Connection, package: Migrations, revision: str) -> None:
    """Bring one package to ``revision``."""
    _alembic().command.upgrade(_config(package, connection), revision)


def downgrade_package(connection: Connection, package: Migrations, revision: str) -> None:
    """Take one package back to ``revision``."""
    _alembic().command.downgrade(_config(package, connection), revision)


def record_applied(connection: Connection, package: Migrations) -> None:
    """Record with which older code the applied revisions of ``package`` are compatible."""
    scripts = revision_scripts(package)
    applied = [script.revision for script in scripts.iterate_revisions(current_revisions(connection, package), "base")]
    compatibility.record_compatible(connection, package.package, scripts, applied)


def run_or_refuse(databases: Databases, packages: Iterable[Migrations], change: Callable[[], Found]) -> Found:
    """Call ``change``, which migrates; failures become one sentence for the operator (`StartRefused`)."""
    # First: an unreachable database is not a failed migration.
    with_connection(databases, lambda connection: [current_revisions(connection, package) for package in packages])
    try:
        return change()
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


def upgrade_or_refuse(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """As `upgrade`; failures become one sentence for the operator (:class:`modhub.base.settings.StartRefused`)."""
    packages = list(packages)
    return run_or_refuse(databases, packages, lambda: upgrade(databases, packages))


def behind(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """The packages whose tables are not at their newest revision."""
    with databases.readonly_engine.connect() as connection:
        states = schema_states(connection, packages)
    return packages_in(states, SchemaState.BEHIND, SchemaState.NEWER)


def with_connection(databases: Databases, query: Callable[[Connection], Found]) -> Found:
    """Call ``query`` with a connection. Database errors become one sentence for the operator and close every one."""
    url = databases.readonly_engine.url
    try:
        with databases.readonly_engine.connect() as connection:
            sentence = database_errors.old_server(connection.dialect)
            sentence = sentence or session_limits.limits_not_in_force(connection, databases.limits)
            if not sentence:
                return query(connection)
    except SQLAlchemyError as error:
        databases.dispose()
        if isinstance(error, OperationalError):
            raise StartRefused(database_errors.unreachable_database(error, url)) from None
        raise StartRefused(f"the database cannot be used: {database_errors.driver_reason(error, url)}") from None
    databases.dispose()
    raise StartRefused(sentence)


def refuse_when_behind(databases: Databases, packages: Iterable[Migrations], ini: str = "YOUR.ini") -> list[str]:
    """Stop the start if the schema is older than this code, or newer; then all connections are closed.

    Returns the packages whose schema is newer, but compatible. Checking creates no file: a missing SQLite database is
    left to the migration.
    """
    packages = list(packages)
    if databases.has_no_file:
        states = dict.fromkeys(packages, SchemaState.BEHIND)
    else:
        states = with_connection(databases, lambda connection: schema_states(connection, packages))
    outdated = packages_in(states, SchemaState.BEHIND)
    if outdated or packages_in(states, SchemaState.NEWER):
        databases.dispose()
    refuse_newer(states)
    if outdated:
        raise StartRefused(f"the database is behind ({', '.join(outdated)}); run: modhub-admin -c {ini} migrate")
    return packages_in(states, SchemaState.COMPATIBLE)


def schema_differences(databases: Databases, package: Migrations) -> list[Any]:
    """What autogeneration would still change for ``package``; empty if models and migrations agree."""
    with databases.readonly_engine.connect() as connection:
        options = {
            "version_table": package.version_table,
            "include_object": include_object(package),
            "compare_type": True,
        }
        context = _alembic().runtime.migration.MigrationContext.configure(connection, opts=options)
        differences: list[Any] = _alembic().autogenerate.compare_metadata(context, Base.metadata)
        return differences
