"""Applications that tests share: configuring one takes longer than most tests.

An application is configured once for its features, settings and environment. Each test gets it with a fresh database
and an empty file store. What it keeps of public content ends with the old database, because each copy begins a feed of
its own, as a restored backup does. Counters go on: a test that counts from 0, or changes an application or what it is
configured from, asks for one of its own.
"""

import itertools
import os
import shutil
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import modhub
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.db.changes import start_new_feed
from modhub_testing.databases import TEST_SECRET, TemplateDatabases

TEST_ACCOUNTS = "modhub_testing.accounts"
"""The feature of :mod:`modhub_testing.accounts`, which has no tables."""
IDLE_APPLICATIONS = 40
"""How many unused ones a test process keeps; the least recently used is discarded first."""
FOLDER = "{folder}"
"""Stands for the application's own folder in the value of a setting."""


class Application:
    """A configured application with a folder of its own."""

    def __init__(self, url: str, folder: Path, includes: str, settings: Mapping[str, str]) -> None:
        self.url = url
        self.folder = folder
        _make_store(folder)
        own = {"sqlalchemy.url": url, "modhub.storage": f"file://{folder / 'files'}", "pyramid.includes": includes}
        all_settings = {"modhub.secret": TEST_SECRET, **own, **settings}
        # The store's 256 other folders are created on demand: creating them all would double the time.
        self.config = modhub.configure(
            {name: value.replace(FOLDER, str(folder)) for name, value in all_settings.items()},
            makes_store="modhub.storage" in settings,
        )
        self.wsgi = self.config.make_wsgi_app()
        self._databases = find_service(self.config.registry, Databases)

    def begin_feed(self) -> None:
        """Let what is kept of another database's content end."""
        with self._databases.write_session.begin() as session:
            start_new_feed(session)

    def close(self) -> None:
        """Close the connections to the database."""
        self._databases.dispose()


class Applications:
    """Those of one test process; each has a folder below ``folder``.

    Those of some of these ``features`` have the tables of all: so their databases are copies of one.
    """

    def __init__(self, databases: TemplateDatabases, folder: Path, features: str = "") -> None:
        self._databases = databases
        self._features = features
        self._folder = folder
        self._numbers = itertools.count()
        self._idle: list[tuple[Hashable, Application]] = []

    @contextmanager
    def lend(self, dialect: str, includes: str, settings: Mapping[str, str], *, fresh: bool) -> Iterator[Application]:
        """Lend an application for a ``with`` block; a ``fresh`` one is configured for it and discarded afterwards."""
        key = dialect, includes, tuple(sorted(settings.items())), _environment()
        schema = includes if fresh else self._schema(includes)
        application = (None if fresh else self._take(key, schema)) or self._create(dialect, includes, settings, schema)
        try:
            yield application
        finally:
            application.close()
            if not fresh:
                self._idle.append((key, application))
            if fresh or len(self._idle) > IDLE_APPLICATIONS:
                self._discard(application if fresh else self._idle.pop(0)[1])

    def _take(self, key: Hashable, schema: str) -> Application | None:
        for at, (other, application) in enumerate(self._idle):
            if other == key:
                del self._idle[at]
                shutil.rmtree(application.folder)
                _make_store(application.folder)
                self._databases.renew(application.url, schema)
                application.begin_feed()
                return application
        return None

    def _create(self, dialect: str, includes: str, settings: Mapping[str, str], schema: str) -> Application:
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        url = self._databases.new(dialect, schema, folder / "modhub.sqlite")
        return Application(url, folder, includes, settings)

    def _schema(self, includes: str) -> str:
        words = {*includes.split()} - {TEST_ACCOUNTS}
        return self._features if words <= {*self._features.split()} else includes

    def _discard(self, application: Application) -> None:
        self._databases.drop(application.url)
        shutil.rmtree(application.folder)


def _environment() -> frozenset[tuple[str, str]]:
    """The environment, which may hold settings, without the variables of pytest: they name the running test."""
    return frozenset((name, value) for name, value in os.environ.items() if not name.startswith("PYTEST_"))


def _make_store(folder: Path) -> None:
    (folder / "files" / "staging").mkdir(mode=0o700, parents=True, exist_ok=True)
