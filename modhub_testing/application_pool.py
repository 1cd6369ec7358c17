"""Applications shared by tests: configuring one takes two fifths of the time of a test, emptying one takes little.

Each test gets an application with a fresh database and an empty file store. Whatever objects of modhub cached in memory
is put back as it was before the first request (:class:`MemoryState`).
"""

import itertools
import os
import shutil
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CellType, FunctionType, MethodType
from typing import Any

from pyramid.config import Configurator

import modhub
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub_testing.databases import TEST_SECRET, TemplateDatabases

IDLE_APPLICATIONS = 40
"""How many unused ones a test process keeps; the least recently used is discarded first."""
FOLDER = "{folder}"
"""Stands for the application's own folder in the value of a setting."""
_CONTAINERS = (dict, list, set, deque)


class MemoryState:
    """What the objects of modhub below ``roots`` contain now: attributes, containers and closures."""

    def __init__(self, *roots: Any) -> None:
        self._attributes: list[tuple[Any, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        seen: dict[int, Any] = {}
        waiting = list(roots)
        while waiting:
            obj = waiting.pop()
            if id(obj) not in seen:
                seen[id(obj)] = obj
                waiting.extend(self._record(obj))

    def _record(self, obj: Any) -> Iterator[Any]:
        """Record one object and return the objects to visit next."""
        if isinstance(obj, _CONTAINERS):
            self._containers.append((obj, obj.copy()))
            yield from obj.values() if isinstance(obj, dict) else obj
        elif isinstance(obj, tuple):
            yield from obj
        elif isinstance(obj, MethodType):
            yield obj.__self__
        elif isinstance(obj, FunctionType):
            for cell in obj.__closure__ or ():
                yield from self._record_cell(cell)
        elif not isinstance(obj, type) and type(obj).__module__.partition(".")[0].startswith("modhub"):
            attributes = dict(_attributes(obj))
            self._attributes.append((obj, attributes))
            yield from attributes.values()

    def _record_cell(self, cell: CellType) -> Iterator[Any]:
        try:
            content = cell.cell_contents
        except ValueError:  # not assigned yet
            return
        self._cells.append((cell, content))
        yield content

    def restore(self) -> None:
        """Put everything back."""
        for obj, before in self._attributes:
            now = dict(_attributes(obj))
            for name in now.keys() - before.keys():
                delattr(obj, name)
            for name, value in before.items():
                if name not in now or now[name] is not value:
                    setattr(obj, name, value)
        for container, content in self._containers:
            if not _same(container, content):
                container.clear()
                (container.update if isinstance(content, dict | set) else container.extend)(content)
        for cell, content in self._cells:
            if cell.cell_contents is not content:
                cell.cell_contents = content


def _same(container: Any, content: Any) -> bool:
    now, before = ([*each.items()] if isinstance(each, dict) else [*each] for each in (container, content))
    return len(now) == len(before) and all(
        a is b or (isinstance(a, tuple) and a[0] is b[0] and a[1] is b[1]) for a, b in zip(now, before, strict=True)
    )


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(obj, "__dict__", {}).items()
    kind: Any = type(obj)
    for name in _slots(kind):
        if hasattr(obj, name):
            yield name, getattr(obj, name)


@cache
def _slots(kind: type) -> list[str]:
    declared = [base.__dict__.get("__slots__", ()) for base in kind.__mro__]
    names = [name for slots in declared for name in ((slots,) if isinstance(slots, str) else slots)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


class PooledApplication:
    """A configured application with a folder of its own; its database and files are replaced for each test."""

    def __init__(self, config: Configurator, folder: Path) -> None:
        self.config = config
        self.wsgi = config.make_wsgi_app()
        self.folder = folder
        registry = config.registry
        self._databases = find_service(registry, Databases)
        utilities = [item.component for item in registry.registeredUtilities()]
        views = [item.factory for item in registry.registeredAdapters()]
        handlers = [item.handler for item in registry.registeredHandlers()]
        # registry is a dict: its own items are the services.
        self._state = MemoryState(registry, registry.settings, utilities, views, handlers, self.wsgi.handle_request)

    @property
    def url(self) -> str:
        """The address of the database."""
        return str(self.config.registry.settings["sqlalchemy.url"])

    def close(self) -> None:
        """Close the connections and put the memory back."""
        self._databases.dispose()
        self._state.restore()


Idle = list[tuple[Hashable, PooledApplication]]


class ApplicationPool:
    """Applications by database, features, settings and environment; each has a folder below ``folder``."""

    def __init__(self, databases: TemplateDatabases, folder: Path) -> None:
        self._databases = databases
        self._folder = folder
        self._numbers = itertools.count()
        self._idle: Idle = []
        self._idle_companions: Idle = []

    @contextmanager
    def application(
        self, dialect: str, includes: str, settings: Mapping[str, str], *, fresh: bool
    ) -> Iterator[PooledApplication]:
        """Lend an application with a fresh database and an empty store for a ``with`` block.

        :data:`FOLDER` in a setting stands for the application's own folder. ``fresh``: configure a new one and discard
        it afterwards, because the test changes code that the application reads when it is configured.
        """
        key = dialect, includes, tuple(sorted(settings.items())), _environment()
        application = (None if fresh else self._take(key, includes)) or self._create(dialect, includes, settings)
        try:
            yield application
        finally:
            application.close()
            self._idle.append((() if fresh else key, application))
            if fresh or len(self._idle) > IDLE_APPLICATIONS:
                self._discard(self._idle.pop(-1 if fresh else 0)[1])

    @contextmanager
    def companion(
        self, url: str, folder: Path, includes: str, settings: Mapping[str, str], *, fresh: bool
    ) -> Iterator[PooledApplication]:
        """Lend another application over a database and the store in ``folder`` for a ``with`` block.

        An application that is lent again keeps its address and its folder, so its companion serves again too.
        """
        (folder / "files" / "staging").mkdir(mode=0o700, parents=True, exist_ok=True)
        own = {"sqlalchemy.url": url, "modhub.storage": f"file://{folder / 'files'}", "pyramid.includes": includes}
        key = tuple(sorted({**own, **settings}.items())), _environment()
        application = (None if fresh else _pop(self._idle_companions, key)) or self._configure(
            folder, {**own, **settings}
        )
        try:
            yield application
        finally:
            application.close()
            if not fresh:
                self._idle_companions.append((key, application))
                del self._idle_companions[:-IDLE_APPLICATIONS]

    def close(self) -> None:
        """Delete the files; the databases end with their server."""
        while self._idle:
            shutil.rmtree(self._idle.pop()[1].folder)

    def _take(self, key: Hashable, includes: str) -> PooledApplication | None:
        application = _pop(self._idle, key)
        if application is not None:
            shutil.rmtree(application.folder)
            _create_folders(application.folder)
            self._databases.renew(application.url, includes)
        return application

    def _create(self, dialect: str, includes: str, settings: Mapping[str, str]) -> PooledApplication:
        folder = self._folder / str(next(self._numbers))
        files = _create_folders(folder)
        url = self._databases.new(dialect, includes, folder / "modhub.sqlite")
        own = {"sqlalchemy.url": url, "modhub.storage": f"file://{files}", "pyramid.includes": includes}
        return self._configure(folder, {**own, **settings})

    def _configure(self, folder: Path, settings: Mapping[str, str]) -> PooledApplication:
        own_settings = {name: value.replace(FOLDER, str(folder)) for name, value in settings.items()}
        # The store's 256 other folders are created on demand: creating them all would double the time.
        makes_store = own_settings["modhub.storage"] != f"file://{folder / 'files'}"
        return PooledApplication(
            modhub.configure({"modhub.secret": TEST_SECRET, **own_settings}, makes_store=makes_store), folder
        )

    def _discard(self, application: PooledApplication) -> None:
        self._databases.drop(application.url)
        shutil.rmtree(application.folder)


def _pop(idle: Idle, key: Hashable) -> PooledApplication | None:
    for at, (other, application) in enumerate(idle):
        if other == key:
            del idle[at]
            return application
    return None


def _environment() -> frozenset[tuple[str, str]]:
    """The environment, which may hold settings, without the variables of pytest: they name the running test."""
    return frozenset((name, value) for name, value in os.environ.items() if not name.startswith("PYTEST_"))


def _create_folders(folder: Path) -> Path:
    files = folder / "files"
    (files / "staging").mkdir(mode=0o700, parents=True)
    return files
