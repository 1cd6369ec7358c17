"""``modhub-get`` against the real service."""

import pytest

from modhub_client.get.outcome import ExitCode
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import hide_mod, new_mod, published_mod, upload_asset
from modhub_testing.running_server import served

from .conftest import Runs, files


@pytest.fixture
def site(start):
    return start(f"{TEST_ACCOUNTS} modhub_sync")


@pytest.fixture
def run(site, folder, capsys):
    with served(site.app) as url:
        yield Runs(url, folder, capsys)


def test_the_whole_life_of_a_folder(site, run, folder):
    base, draft = published_mod(site), new_mod(site)
    upload_asset(site, base, "code", name="Überflug (1) 100%.zip", version="1.1", content=b"base")
    top = published_mod(site, requires=[base["guid"]], title="Top of all")
    code = {f"{top['guid']}/mod.zip": b"code of " + top["guid"].encode()}
    assert [mod["guid"] for mod in run(0, "search", "top of")["mods"]] == [top["guid"]]
    report = run(0, "install", top["guid"].upper())
    assert [mod["guid"] for mod in report["installed"]] == [base["guid"], top["guid"]]
    assert files(folder) == {**code, f"{base['guid']}/Überflug (1) 100%.zip": b"base"}
    assert run(ExitCode.NOT_AVAILABLE, "install", draft["guid"])["missing"] == [
        {"guid": draft["guid"], "requiredBy": []}
    ]
    assert run(0, "check")["same"] == 2
    upload_asset(site, base, "code", name="mod.zip", version="2", content=b"newer")
    changed = run(ExitCode.DIFFERENT, "check")["changed"]
    assert [(mod["guid"], mod["version"], mod["bytes"]) for mod in changed] == [(base["guid"], "2", 5)]
    assert [mod["guid"] for mod in run(0, "update")["updated"]] == [base["guid"]]
    updated = {**code, f"{base['guid']}/mod.zip": b"newer"}
    assert files(folder) == updated
    upload_asset(site, base, "code", name="mod.zip", version="3", content=b"newest")
    hide_mod(site, top)
    assert run(ExitCode.DIFFERENT, "check")["gone"] == [top["guid"]]
    assert [mod["guid"] for mod in run(ExitCode.NOT_AVAILABLE, "update")["missing"]] == [top["guid"]]
    assert files(folder) == updated, "nothing is changed while something is missing"
    run(0, "remove", top["guid"])
    assert files(folder) == {}
