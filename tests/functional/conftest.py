"""Real ``pserve`` processes on real databases (`modhub_testing.service`), shared by the tests of a module."""

import os
from functools import partial

import pytest

from modhub_testing import choose_databases
from modhub_testing.object_store import BUCKET, SeaweedFS
from modhub_testing.service import Installation

# `make test-machines LONG=1`: the same tests with files in an object store, by one process and by two.
WITH_OBJECT_STORE = bool(os.environ.get("MODHUB_TEST_OBJECT_STORE"))
PROCESSES = int(os.environ.get("MODHUB_TEST_PROCESSES", "2"))
# It is about a folder of files.
collect_ignore = ["test_faults.py"] if WITH_OBJECT_STORE else []


def pytest_generate_tests(metafunc):
    """The databases of processes, as those of applications."""
    choose_databases(metafunc, "kind", "module")


class InstallationWithObjects(Installation):
    """An installation whose files are in an object store."""

    def __init__(self, object_store, folder, url, includes, **options):
        self._object_store = object_store
        self._prefix = os.urandom(8).hex()
        settings = {**object_store.service_settings(self._prefix), **(options.pop("settings", None) or {})}
        super().__init__(folder, url, includes, settings=settings, **options)

    def stored(self):
        """Every object, named as a local store would name its file."""
        pages = self._object_store.client.get_paginator("list_objects_v2")
        sizes = {}
        for page in pages.paginate(Bucket=BUCKET, Prefix=f"{self._prefix}/"):
            for entry in page.get("Contents", []):
                key = entry["Key"].removeprefix(f"{self._prefix}/")
                sizes[f"{key[:2]}/{key[2:]}"] = entry["Size"]
        return sizes


class Services:
    """Makes installations, and ends them with the module. Their files are in ``object_store`` if there is one."""

    def __init__(self, folder, databases, compiled_templates, object_store=None):
        self._folder = folder
        self._compiled_templates = compiled_templates
        self._databases = databases
        self._installation = Installation if object_store is None else partial(InstallationWithObjects, object_store)
        self.made = []

    def __call__(
        self, kind, processes=1, *, includes="modhub_auth", schema=None, settings=None, server=None, environ=None
    ):
        """An installation that so many processes serve already.

        ``schema`` names the features that its database is migrated for: those of ``includes`` where processes are
        started, else none, and the test itself migrates.
        """
        folder = self._folder / f"service-{len(self.made)}"
        folder.mkdir()
        if schema is None and processes:
            schema = includes
        url = self._databases.new(kind, schema, folder / "modhub.sqlite")
        made = self._installation(
            folder,
            url,
            includes,
            settings={"modhub_auth.register_limit": "1000000", **self._compiled_templates, **(settings or {})},
            server=server,
            environ=environ,
        )
        self.made.append(made)
        for process in [made.launch() for _ in range(processes)]:
            process.wait()
        return made

    def close(self):
        for made in self.made:
            made.stop()
            self._databases.drop(made.url)


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    """The object store of all installations, if they are to have one."""
    if not WITH_OBJECT_STORE:
        yield None
        return
    server = SeaweedFS(tmp_path_factory.mktemp("objects"))
    try:
        server.wait()
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def services(template_databases, tmp_path_factory, objects, _compiled_templates):
    made = Services(tmp_path_factory.mktemp("functional"), template_databases, _compiled_templates, objects)
    yield made
    made.close()
    for installation in made.made:
        assert not installation.crashed(), installation.log()[-8000:]
        assert "Traceback" not in installation.log(), installation.log()[-8000:]


@pytest.fixture(scope="module")
def kind(request):
    return str(request.param)


@pytest.fixture(scope="module")
def service(services, kind):
    """Two processes on one database and one store, with accounts."""
    made = services(kind, PROCESSES)
    yield made
    made.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows what the processes wrote, with its traceback: of a first try nothing else is printed."""
    report = yield
    if report.failed and hasattr(report.longrepr, "addsection"):
        values = getattr(item, "funcargs", {}).values()
        made = [each for value in values for each in (value.made if isinstance(value, Services) else [value])]
        for installation in {id(each): each for each in made if isinstance(each, Installation)}.values():
            notable = [line for line in installation.log().splitlines() if " INFO modhub." not in line]
            told = [*installation.crashed(), *notable[-60:]]
            report.longrepr.addsection(f"pserve in {installation.folder.name}", "\n".join(told))
    return report
