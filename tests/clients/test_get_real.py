"""``modhub-get`` against the real service."""

import pytest

from modhub_client.get.outcome import ExitCode
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import hide_mod, new_mod, publish_test_mod, upload_asset
from modhub_testing.running_server import running

from .conftest import Runs, files

MB = 1 << 20


@pytest.fixture
def site(start):
    return start(f"{TEST_ACCOUNTS} modhub_sync")


@pytest.fixture
def served(site):
    with running(site.app) as service:
        yield "http://{}:{}".format(*service.addresses[0])


@pytest.fixture
def run(served, folder, capsys):
    return Runs(served, folder, capsys)


def add(site, content, *, name="mod.zip", requires=(), **fields):
    mod = new_mod(site, requires=[required["guid"] for required in requires], **fields)
    upload_asset(site, mod, "code", name=name, version="1", content=content)
    return publish_test_mod(site, mod)


def test_the_whole_life_of_a_folder(site, run, folder):
    base = add(site, b"base", name="Überflug (1) 100%.zip")
    top = add(site, b"top", requires=(base,), title="Top of all")
    draft = new_mod(site)
    assert [mod["guid"] for mod in run(0, "search", "top of")["mods"]] == [top["guid"]]
    report = run(0, "install", top["guid"].upper())
    assert [mod["guid"] for mod in report["installed"]] == [base["guid"], top["guid"]]
    installed = {
        f"{base['guid']}/Überflug (1) 100%.zip": b"base",
        f"{top['guid']}/mod.zip": b"top",
    }
    assert files(folder) == installed
    assert run(ExitCode.NOT_AVAILABLE, "install", draft["guid"])["missing"] == [
        {"guid": draft["guid"], "requiredBy": []}
    ]
    assert run(0, "check")["same"] == 2
    upload_asset(site, base, "code", name="mod.zip", version="2", content=b"newer")
    changed = run(ExitCode.DIFFERENT, "check")["changed"]
    assert [(mod["guid"], mod["version"], mod["bytes"]) for mod in changed] == [(base["guid"], "2", 5)]
    assert [mod["guid"] for mod in run(0, "update")["updated"]] == [base["guid"]]
    updated = {f"{base['guid']}/mod.zip": b"newer", f"{top['guid']}/mod.zip": b"top"}
    assert files(folder) == updated
    upload_asset(site, base, "code", name="mod.zip", version="3", content=b"newest")
    hide_mod(site, top)
    assert run(ExitCode.DIFFERENT, "check")["gone"] == [top["guid"]]
    assert [mod["guid"] for mod in run(ExitCode.NOT_AVAILABLE, "update")["missing"]] == [top["guid"]]
    assert files(folder) == updated, "nothing is changed while something is missing"
    run(0, "remove", top["guid"])
    assert files(folder) == {}
