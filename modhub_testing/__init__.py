"""Fixtures for tests of the core and of any feature: a pytest plugin.

``start`` builds an application over a fresh, migrated database and returns a :class:`Site`: WebTest with the accounts
of :mod:`modhub_testing.accounts`, as in ``site.as_account(7).post_json(...)``.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from pyramid.config import Configurator
from sqlalchemy import event, func, select
from webtest import TestApp, TestResponse

from modhub.base.service_registry import Service, find_service
from modhub.db import Databases
from modhub.plugins.declarations import Declarations
from modhub_testing.applications import TEST_ACCOUNTS as TEST_ACCOUNTS
from modhub_testing.applications import Application, Applications
from modhub_testing.databases import TEST_SECRET as TEST_SECRET
from modhub_testing.databases import TemplateDatabases
from modhub_testing.described import described_api
from modhub_testing.postgres import PostgresServer, postgres_server, roomy_memory

TEMPORARY_BYTES = 6 * 1024**3
"""Free memory required to put the tests' files there."""
Start = Callable[..., "Site"]


MARKERS = {
    "postgres": "races, locks, statements, migrations and what else concerns PostgreSQL: runs there too",
    "process": "starts processes or waits for sockets",
    "long": "one of many starts, kills or environments: not in `make test`, but in CI and in `make test-all`",
    "slow": "not in the edit loop: takes a second, or is in a module whose tests take long",
}
DATABASES = {
    "sqlite": ["sqlite"],
    "marked": ["sqlite"],
    "postgresql": ["postgresql"],
    "all": ["sqlite", "postgresql"],
    "rest": ["sqlite", "postgresql"],
}
"""Where a test without the marker ``postgres`` runs, by the option ``--databases``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--databases``."""
    parser.addoption(
        "--databases",
        choices=[*DATABASES],
        default="marked",
        help="SQLite alone, PostgreSQL too where marked postgres, PostgreSQL alone, both for all, "
        "or of these what `make test` leaves out",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders in memory if there is enough: fsync costs nothing there."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if place := roomy_memory(TEMPORARY_BYTES):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", place)
    # Under nohup or in the background of a script they are ignored, also by the programs that tests start.
    for number, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the values of the fixture ``dialect``."""
    choose_databases(metafunc, "dialect", "function")


def choose_databases(metafunc: pytest.Metafunc, fixture: str, scope: Literal["function", "module"]) -> None:
    """Choose the values of the fixture ``fixture``, unless the test names them by ``parametrize``."""
    named = {known.args[0] for known in metafunc.definition.iter_markers("parametrize")}
    if fixture not in metafunc.fixturenames or fixture in named:
        return
    option = metafunc.config.getoption("databases")
    is_marked = option == "marked" and metafunc.definition.get_closest_marker("postgres")
    metafunc.parametrize(fixture, DATABASES["all" if is_marked else option], indirect=True, scope=scope)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out with ``--databases sqlite`` what needs PostgreSQL, with ``rest`` what ``make test`` runs."""
    option = config.getoption("databases")
    if option == "sqlite":
        unwanted = [item for item in items if needs_postgres(item)]
    elif option == "rest":
        unwanted = [item for item in items if not item.get_closest_marker("long") and is_in_make_test(item)]
    else:
        return
    config.hook.pytest_deselected(items=unwanted)
    items[:] = [item for item in items if item not in unwanted]


def needs_postgres(item: pytest.Item) -> bool:
    """Whether a test has PostgreSQL among its parameters, or takes its server."""
    if "postgres" in getattr(item, "fixturenames", ()):
        return True
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    return any("postgresql" in (value if isinstance(value, tuple) else (value,)) for value in values)


def is_in_make_test(item: pytest.Item) -> bool:
    """Whether ``make test`` runs a test that is not long with these parameters."""
    return bool(item.get_closest_marker("postgres")) or not needs_postgres(item)


def pytest_collection_finish() -> None:
    """Exempt everything imported so far from garbage collection, to save time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class Site(TestApp):
    """A running application: WebTest with the application's configuration and calls by an account."""

    def __init__(self, config: Configurator, wsgi: Any = None) -> None:
        self.config = config
        self.registry: Any = config.registry
        self._described = described_api(config.registry)
        # As our own server sets it; else WebOb copies each body into a temporary file.
        super().__init__(wsgi or config.make_wsgi_app(), extra_environ={"webob.is_body_seekable": True})

    def find_service(self, kind: type[Service]) -> Service:
        """Return the application's service of this type."""
        return find_service(self.registry, kind)

    @property
    def databases(self) -> Databases:
        """The engines of the application."""
        return self.find_service(Databases)

    @property
    def declarations(self) -> Declarations:
        """The declarations of the included packages."""
        return self.find_service(Declarations)

    def as_account(self, account_id: int) -> "Site":
        """Return the same application, called by the account with this id."""
        other = Site.__new__(Site)
        other.__dict__.update(self.__dict__)
        other.extra_environ = {**self.extra_environ, "HTTP_AUTHORIZATION": f"Bearer account-{account_id}"}
        return other

    def do_request(self, req: Any, status: Any = None, expect_errors: Any = None) -> TestResponse:
        """Every response is compared with what ``/api/openapi.json`` says of the call."""
        response = super().do_request(req, status, expect_errors)
        if "Content-Encoding" not in response.headers:
            self._described.check(response)
        return response

    def count_rows(self, model: Any) -> int:
        """Return how many rows the table of ``model`` has."""
        with self.databases.readonly_session() as session:
            return session.scalar(select(func.count()).select_from(model)) or 0

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """Collect the SQL statements that run in the ``with`` block, on all engines."""
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


@pytest.fixture
def dialect(request: pytest.FixtureRequest) -> str:
    """The database of the test."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def template_databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TemplateDatabases:
    """Fresh databases for fixtures of any scope; tests take ``new_database``."""
    return TemplateDatabases(tmp_path_factory.mktemp("schemas"), lambda: request.getfixturevalue("postgres"))


@pytest.fixture
def new_database(dialect: str, tmp_path: Path, template_databases: TemplateDatabases) -> Iterator[Callable[[str], str]]:
    """``new_database(includes)`` returns the URL of a fresh database, migrated for these features."""
    made: list[str] = []

    def new(includes: str = "") -> str:
        made.append(template_databases.new(dialect, includes, tmp_path / f"modhub-{len(made)}.sqlite"))
        return made[-1]

    yield new
    for url in made:
        template_databases.drop(url)


@pytest.fixture(scope="session")
def _compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings that make Jinja compile each template once for all applications: most of the time of a first page."""
    return {
        "jinja2.bytecode_caching": "true",
        "jinja2.bytecode_caching_directory": str(tmp_path_factory.mktemp("compiled-templates")),
    }


@pytest.fixture(scope="session")
def schema_features() -> str:
    """Features whose tables each database has; a suite of several features names all, so that one is migrated."""
    return ""


@pytest.fixture(scope="session")
def applications(
    template_databases: TemplateDatabases, tmp_path_factory: pytest.TempPathFactory, schema_features: str
) -> Applications:
    """The applications of this test process."""
    return Applications(template_databases, tmp_path_factory.mktemp("applications"), schema_features)


@pytest.fixture
def start(
    dialect: str, tmp_path: Path, applications: Applications, _compiled_templates: dict[str, str]
) -> Iterator[Start]:
    """``start(includes, **settings)`` returns an application over a fresh database, with an empty file store.

    ``{folder}`` in a setting stands for the application's own folder. With ``url`` it uses that database, and if it is
    the one of another application of the test, also the same store. ``fresh=True`` configures one for the test alone:
    for tests that change it, or what it is configured from, or count from 0, or ask which tables there are.
    """
    lent: dict[str, Application] = {}
    with ExitStack() as stack:

        def begin(includes: str = TEST_ACCOUNTS, *, url: str = "", fresh: bool = False, **settings: str) -> Site:
            ini = {**_compiled_templates, **{name.replace("__", "."): value for name, value in settings.items()}}
            if url:
                application = Application(url, lent[url].folder if url in lent else tmp_path, includes, ini)
                stack.callback(application.close)
            else:
                application = stack.enter_context(applications.lend(dialect, includes, ini, fresh=fresh))
            lent.setdefault(application.url, application)
            return Site(application.config, application.wsgi)

        yield begin


@pytest.fixture
def site(start: Start) -> Site:
    """The core with the test accounts."""
    return start()


def count_open_files(root: Path) -> int:
    """How many files below ``root`` are open; what else this process has open may be collected at any moment."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this very look
            count += str(link.readlink()).startswith(f"{root}/")
    return count


def stored_files(site: Site) -> list[Path]:
    """Return every file in the site's file store."""
    folder = Path(urlsplit(site.registry.settings["modhub.storage"]).path)
    return sorted(path for path in folder.rglob("*") if path.is_file())
