"""Fixtures for tests of the core and of any feature: a pytest plugin.

``start`` makes a whole application over a fresh, migrated database of each kind and answers a :class:`Site`, which is
WebTest with the accounts of :mod:`modhub.testing.accounts`: ``site.as_account(7).post_json(...)``.
"""

import gc
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyramid.config import Configurator
from sqlalchemy import event
from webtest import TestApp

import modhub
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import Service, find_service
from modhub.testing.postgres import PostgresServer, postgres_server

TEST_SECRET = "a secret of the tests, of more than 32 characters"  # noqa: S105 - it guards nothing
TEST_ACCOUNTS = "modhub.testing.accounts"
Start = Callable[..., "Site"]


def pytest_collection_finish() -> None:
    """What has been imported by now stays: the collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class Site(TestApp):
    """A running application: WebTest, the configuration behind it, and how to be an account."""

    def __init__(self, config: Configurator) -> None:
        self.config = config
        self.registry: Any = config.registry
        # As our own server says of its bodies; without it WebOb copies each one into a temporary file.
        super().__init__(config.make_wsgi_app(), extra_environ={"webob.is_body_seekable": True})

    def find_service(self, kind: type[Service]) -> Service:
        """The application's service of ``kind``."""
        return find_service(self.registry, kind)

    @property
    def databases(self) -> Databases:
        """The engines of the application."""
        return self.find_service(Databases)

    @property
    def declarations(self) -> Declarations:
        """What the included packages have declared."""
        return self.find_service(Declarations)

    def as_account(self, account_id: int, *, blocked: bool = False) -> "Site":
        """The same application, called by the account with this number."""
        other = Site.__new__(Site)
        other.__dict__.update(self.__dict__)
        token = f"account-{account_id}" + ("-blocked" if blocked else "")
        other.extra_environ = {**self.extra_environ, "HTTP_AUTHORIZATION": f"Bearer {token}"}
        return other

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The SQL statements that run meanwhile, on every way to the database."""
        seen: list[str] = []

        def heard(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            seen.append(statement)

        databases = self.databases
        engines = (databases.write_engine, databases.readonly_engine, databases.best_effort_engine)
        for engine in engines:
            event.listen(engine, "before_cursor_execute", heard)
        try:
            yield seen
        finally:
            for engine in engines:
                event.remove(engine, "before_cursor_execute", heard)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the test process."""
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """Which database: every test that asks runs on both."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def _templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("schemas")


@pytest.fixture
def new_database(
    dialect: str, request: pytest.FixtureRequest, tmp_path: Path, _templates: Path
) -> Iterator[Callable[[str], str]]:
    """``new_database(includes)``: the address of a fresh database, migrated for these features.

    The schema is built by migrating, once for each set of features, and copied from then on.
    """
    made: list[str] = []

    def new(includes: str = "") -> str:
        name = "-".join(sorted(includes.split())) or "core"
        if dialect == "sqlite":
            template = _templates / f"{name}.sqlite"
            if not template.exists():
                _migrate(f"sqlite:///{template}", includes)
                with closing(sqlite3.connect(template)) as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            copy = tmp_path / f"{name}-{len(made)}.sqlite"
            shutil.copyfile(template, copy)
            made.append(f"sqlite:///{copy}")
        else:
            server = request.getfixturevalue("postgres")
            server.add_template(name, lambda url: _migrate(url, includes))
            made.append(server.new_database(name))
        return made[-1]

    yield new
    if dialect == "postgresql":
        for url in made:
            request.getfixturevalue("postgres").drop_database(url)


def _migrate(url: str, includes: str) -> None:
    settings = {"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": includes}
    registry: Any = modhub.configure(settings).registry
    migrate.upgrade(find_service(registry, Databases), find_service(registry, Declarations).migrations)
    find_service(registry, Databases).dispose()


@pytest.fixture
def start(new_database: Callable[[str], str], tmp_path: Path) -> Iterator[Start]:
    """``start(includes, **settings)``: an application over a fresh database of each kind, with a file store."""
    sites: list[Site] = []

    def begin(includes: str = TEST_ACCOUNTS, **settings: str) -> Site:
        given = {
            "sqlalchemy.url": settings.pop("url", "") or new_database(includes),
            "modhub.secret": TEST_SECRET,
            "modhub.storage": f"file://{tmp_path}/files",
            "pyramid.includes": includes,
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
        site = Site(modhub.configure(given))
        sites.append(site)
        return site

    yield begin
    for site in sites:
        site.databases.dispose()


@pytest.fixture
def site(start: Start) -> Site:
    """The core with the accounts of the tests."""
    return start()


def stored_files(site: Site) -> list[Path]:
    """Every file below the site's file store."""
    folder = Path(urlsplit(site.registry.settings["modhub.storage"]).path)
    return sorted(path for path in folder.rglob("*") if path.is_file())
