"""Real ``pserve`` processes on real databases (`modhub.testing.service`), shared by the tests of a module."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from modhub.testing.service import Installation

SLOW = ("functional", "packaging")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules of few long tests first: one that came last would leave the other processes with nothing to do."""
    items.sort(key=lambda item: not any(part in SLOW for part in item.path.parts))


class Services:
    """Makes installations, and ends them with the module."""

    def __init__(self, folder: Path, postgres: Callable[[], Any]) -> None:
        self._folder = folder
        self._postgres = postgres
        self._databases: list[str] = []
        self.made: list[Installation] = []

    def __call__(
        self,
        kind: str,
        processes: int = 1,
        *,
        includes: str = "modhub_auth",
        settings: Mapping[str, str | None] | None = None,
        server: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Installation:
        folder = self._folder / f"service-{len(self.made)}"
        folder.mkdir()
        if kind == "sqlite":
            url = f"sqlite:///{folder}/modhub.sqlite"
        else:
            url = self._postgres().new_database()
            self._databases.append(url)
        made = Installation(
            folder,
            url,
            includes,
            settings={"modhub_auth.register_limit": "1000000", **(settings or {})},
            server=server,
            environ=environ,
        )
        self.made.append(made)
        if processes:
            migrated = made.admin("migrate")
            assert migrated.returncode == 0, migrated
            for process in [made.launch() for _ in range(processes)]:
                process.wait()
        return made

    def close(self) -> None:
        for made in self.made:
            made.stop()
        for url in self._databases:
            self._postgres().drop_database(url)


@pytest.fixture(scope="module")
def services(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    made = Services(tmp_path_factory.mktemp("functional"), lambda: request.getfixturevalue("postgres"))
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
