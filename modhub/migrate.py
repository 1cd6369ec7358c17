"""Schema migrations: alembic without an ini file, one version table for each package (architecture 5)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from modhub.db import Base, Databases
from modhub.directives import Migrations
from modhub.settings import StartRefused

ENV_FOLDER = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x6D6F6468
UNMAPPED = "fts_"
"""Tables and indexes that one kind of database alone has; no model describes them."""


def _config(package: Migrations, connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ENV_FOLDER))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions"))
    config.set_main_option("path_separator", "newline")
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
    with databases.writer.begin() as connection:
        if databases.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        yield connection


def upgrade(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """Bring every package to its newest revision in one transaction; answers the packages that changed."""
    changed = []
    with _alone(databases) as connection:
        for package in packages:
            before = current(connection, package)
            command.upgrade(_config(package, connection), "head")
            if current(connection, package) != before:
                changed.append(package.package)
    return changed


def current(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """The revision that the database has of ``package``."""
    context = MigrationContext.configure(connection, opts={"version_table": package.version_table})
    return tuple(context.get_current_heads())


def head(package: Migrations) -> tuple[str, ...]:
    """The newest revision of ``package``."""
    config = Config()
    config.set_main_option("script_location", str(ENV_FOLDER))
    config.set_main_option("version_locations", str(Path(package.folder) / "versions"))
    config.set_main_option("path_separator", "newline")
    return tuple(ScriptDirectory.from_config(config).get_heads())


def behind(databases: Databases, packages: Iterable[Migrations]) -> list[str]:
    """The packages whose tables are not at their newest revision."""
    with databases.reader.connect() as connection:
        return [package.package for package in packages if current(connection, package) != head(package)]


def refuse_when_behind(databases: Databases, packages: Iterable[Migrations]) -> None:
    """Stop the start when the schema is not what the code needs (decisions 8.2); no connection stays open then."""
    try:
        late = behind(databases, packages)
    except SQLAlchemyError as problem:
        raise StartRefused(f"the database cannot be reached ({type(problem).__name__})") from None
    if late:
        databases.dispose()
        names = ", ".join(late)
        raise StartRefused(f"the database is behind ({names}); run: modhub-admin -c YOUR.ini migrate")


def differences(databases: Databases, package: Migrations) -> list[Any]:
    """What autogeneration would still change for ``package``; empty when models and migrations agree."""
    with databases.reader.connect() as connection:
        options = {
            "version_table": package.version_table,
            "include_object": include_object(package),
            "compare_type": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        found: list[Any] = compare_metadata(context, Base.metadata)
        return found
