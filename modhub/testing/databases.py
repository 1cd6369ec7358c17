"""Fresh databases for tests, copied from templates: each schema is migrated once."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import modhub
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import find_service
from modhub.testing.postgres import PostgresServer

TEST_SECRET = "a secret of the tests, of more than 32 characters"  # noqa: S105 - it guards nothing


class TemplateDatabases:
    """Copies a migrated database per dialect and set of features. ``postgres`` starts the server."""

    def __init__(self, folder: Path, postgres: Callable[[], PostgresServer]) -> None:
        self._folder = folder
        self._postgres = postgres

    def new(self, dialect: str, includes: str | None, copy: Path) -> str:
        """Return the URL of a fresh database, migrated for these features; on SQLite its file is ``copy``.

        If ``includes`` is None, it is empty; on SQLite the file does not exist yet.
        """
        name = "-".join(sorted((includes or "").split())) or "core"
        if dialect == "sqlite":
            if includes is not None:
                shutil.copyfile(self._sqlite_template(name, includes), copy)
            return f"sqlite:///{copy}"
        server = self._postgres()
        if includes is None:
            return server.new_database()
        server.add_template(name, lambda url: _migrate(url, includes))
        return server.new_database(name)

    def drop(self, url: str) -> None:
        """Drop a PostgreSQL database; an SQLite file is deleted with its folder."""
        if not url.startswith("sqlite"):
            self._postgres().drop_database(url)

    def _sqlite_template(self, name: str, includes: str) -> Path:
        template = self._folder / f"{name}.sqlite"
        if not template.exists():
            _migrate(f"sqlite:///{template}", includes)
            with closing(sqlite3.connect(template)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return template


def _migrate(url: str, includes: str) -> None:
    settings = {"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": includes}
    registry = modhub.configure(settings).registry
    databases = find_service(registry, Databases)
    migrate.upgrade(databases, find_service(registry, Declarations).migrations)
    databases.dispose()
