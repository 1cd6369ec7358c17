"""Fresh databases for tests, copied from templates: each schema is migrated once."""

import contextlib
import hashlib
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from sqlalchemy import make_url

import modhub
from modhub.admin import migrate
from modhub.admin.timelines import watch_timelines
from modhub.base.service_registry import find_service
from modhub.db import Base, Databases
from modhub.plugins.declarations import Declarations, Migrations
from modhub_testing.postgres import PostgresServer

TEST_SECRET = "a secret of the tests, of more than 32 characters"  # noqa: S105 - it guards nothing
UNMAPPED = "fts_"
"""Prefix of tables and indexes that exist on one kind of database only; no model describes them."""
LOCK_TRIES = 1200
LOCK_PAUSE = 0.05


class TemplateDatabases:
    """Copies a migrated database per dialect and set of tables. ``postgres`` starts the server."""

    def __init__(self, folder: Path, postgres: Callable[[], PostgresServer]) -> None:
        self._folder = folder
        self.postgres = postgres

    def new(self, dialect: str, includes: str | None, copy: Path) -> str:
        """Return the URL of a fresh database, migrated for these features; on SQLite its file is ``copy``.

        If ``includes`` is None, it is empty; on SQLite the file does not exist yet.
        """
        if dialect == "sqlite":
            if includes is not None:
                shutil.copyfile(self._sqlite_template(includes), copy)
            return f"sqlite:///{copy}"
        server = self.postgres()
        if includes is None:
            return server.new_database()
        name = _template_name(includes)
        server.add_template(name, lambda url: _migrate(url, includes))
        return server.new_database(name)

    def renew(self, url: str, includes: str) -> None:
        """Replace a database of :meth:`new` by a fresh one, under the same address; nobody may be connected."""
        if not url.startswith("sqlite"):
            self.postgres().renew_database(url, _template_name(includes))
            return
        file = Path(url.removeprefix("sqlite:///"))
        for suffix in ("-wal", "-shm", "-journal"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        file.unlink(missing_ok=True)
        shutil.copyfile(self._sqlite_template(includes), file)

    def drop(self, url: str) -> None:
        """Drop a PostgreSQL database; an SQLite file is deleted with its folder."""
        if not url.startswith("sqlite"):
            self.postgres().drop_database(url)

    def _sqlite_template(self, includes: str) -> Path:
        template = self._folder / f"{_template_name(includes)}.sqlite"
        if not template.exists():
            _migrate(f"sqlite:///{template}", includes)
            with closing(sqlite3.connect(template)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return template


def _template_name(includes: str) -> str:
    """The same for all features that bring the same tables: most of those that tests make have none."""
    packages = sorted(f"{each.package} {each.folder}" for each in _migrations(includes))
    return hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]


def _migrate(url: str, includes: str) -> None:
    databases = Databases(url)
    migrate.upgrade(databases, _migrations(includes))
    # Its copies are on the same server: so no test begins by recording the timeline.
    watch_timelines(databases)
    databases.write_engine.connect().close()
    databases.dispose()


@cache
def _migrations(includes: str) -> list[Migrations]:
    """The migrations of these features; they do not depend on the database."""
    settings = {"sqlalchemy.url": "sqlite:////nowhere/modhub.sqlite", "modhub.secret": TEST_SECRET}
    config = modhub.configure({**settings, "pyramid.includes": includes}, makes_store=False)
    return find_service(config.registry, Declarations).migrations


def schema_differences(databases: Databases, package: Migrations) -> list[Any]:
    """What alembic would still change for ``package``; empty if models and migrations agree."""

    def include(db_object: Any, name: str | None, kind: str, _reflected: bool, _compare_to: Any) -> bool:
        owner = name if kind == "table" else getattr(getattr(db_object, "table", None), "name", "")
        return (owner or "").startswith(package.table_prefix) and not (name or "").startswith(UNMAPPED)

    options = {"version_table": package.version_table, "include_object": include, "compare_type": True}
    with databases.readonly_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        differences: list[Any] = compare_metadata(context, Base.metadata)
        return differences


@contextlib.contextmanager
def locked_database(url: str) -> Iterator[None]:
    """Hold every table against writing, as another program might."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.execute("ROLLBACK")
        return
    with closing(psycopg.connect(url.replace("+psycopg", ""))) as other:
        _lock_tables(other)
        yield
        other.rollback()


def _lock_tables(connection: "psycopg.Connection[tuple[str]]") -> None:
    """Lock all tables or none, and try again: waiting for one while holding another could deadlock with a writer."""
    query = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
    names = ", ".join(name for (name,) in connection.execute(query).fetchall())
    for _ in range(LOCK_TRIES):
        try:
            connection.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE NOWAIT".encode())
        except psycopg.errors.LockNotAvailable:
            connection.rollback()
            time.sleep(LOCK_PAUSE)
        else:
            return
    raise TimeoutError("the tables are in use all the time")


@contextlib.contextmanager
def closed_database(url: str) -> Iterator[None]:
    """PostgreSQL ends all connections to the database and refuses new ones, as if it were stopped."""
    address = make_url(url).set(drivername="postgresql")
    name = sql.Identifier(str(address.database))
    server = address.set(database="postgres").render_as_string(hide_password=False)
    change = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with closing(psycopg.connect(server, autocommit=True)) as other:
        other.execute(change.format(name, sql.SQL("false")))
        try:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            other.execute(end, [address.database])
            yield
        finally:
            other.execute(change.format(name, sql.SQL("true")))
