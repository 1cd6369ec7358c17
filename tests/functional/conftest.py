"""Real ``pserve`` processes on real databases (`modhub.testing.service`), shared by the tests of a module."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from modhub.testing import keep_one_database
from modhub.testing.databases import TemplateDatabases
from modhub.testing.service import Installation


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``one_database`` holds for the processes too."""
    keep_one_database(metafunc, "kind", "module")


class Services:
    """Makes installations, and ends them with the module."""

    def __init__(self, folder: Path, databases: TemplateDatabases) -> None:
        self._folder = folder
        self._databases = databases
        self.made: list[Installation] = []

    def __call__(
        self,
        kind: str,
        processes: int = 1,
        *,
        includes: str = "modhub_auth",
        schema: str | None = None,
        settings: Mapping[str, str | None] | None = None,
        server: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Installation:
        """An installation that so many processes serve already.

        ``schema`` names the features that its database is migrated for: those of ``includes`` where processes are
        started, else none, and the test itself migrates.
        """
        folder = self._folder / f"service-{len(self.made)}"
        folder.mkdir()
        if schema is None and processes:
            schema = includes
        url = self._databases.new(kind, schema, folder / "modhub.sqlite")
        made = Installation(
            folder,
            url,
            includes,
            settings={"modhub_auth.register_limit": "1000000", **(settings or {})},
            server=server,
            environ=environ,
        )
        self.made.append(made)
        for process in [made.launch() for _ in range(processes)]:
            process.wait()
        return made

    def close(self) -> None:
        for made in self.made:
            made.stop()
            self._databases.drop(made.url)


@pytest.fixture(scope="module")
def services(template_databases: TemplateDatabases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    made = Services(tmp_path_factory.mktemp("functional"), template_databases)
    yield made
    made.close()
    for one in made.made:
        assert "Traceback" not in one.log(), one.log()[-8000:]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def service(services: Services, kind: str) -> Iterator[Installation]:
    """Two processes on one database and one store, with accounts."""
    made = services(kind, 2)
    yield made
    made.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure shows what the processes wrote."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            for made in value.made if isinstance(value, Services) else [value]:
                if isinstance(made, Installation):
                    report.sections.append((f"pserve in {made.folder.name}", made.log()[-6000:]))
    return report
