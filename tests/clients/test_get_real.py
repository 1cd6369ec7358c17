"""``modhub-get`` against the real service, also through a connection that cuts, damages and refuses."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modhub_client.get import transfer
from modhub_client.get.installation import PRIVATE
from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode
from modhub_testing import TEST_ACCOUNTS, Site, Start
from modhub_testing.mods import OWNER, hide_mod, mod_address, new_mod, publish_test_mod, published_mod, upload_asset
from modhub_testing.running_server import running

from .conftest import files

MB = 1 << 20


@pytest.fixture
def site(start: Start) -> Site:
    return start(f"{TEST_ACCOUNTS} modhub_sync")


@pytest.fixture
def served(site: Site) -> Iterator[str]:
    with running(site.app) as service:
        yield "http://{}:{}".format(*service.addresses[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mods"


@pytest.fixture
def run(served: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(code: int, *words: str, url: str = served) -> Any:
        capsys.readouterr()
        into = [] if words[0] == "search" else ["--into", str(folder)]
        assert main(["--json", "--url", url, *words, *into]) == code, capsys.readouterr()
        return json.loads(capsys.readouterr().out)

    return call


def add(site: Site, content: bytes, *, name: str = "mod.zip", requires: tuple[Any, ...] = (), **fields: Any) -> Any:
    mod = new_mod(site, requires=[required["guid"] for required in requires], **fields)
    upload_asset(site, mod, "code", name=name, version="1", content=content)
    return publish_test_mod(site, mod)


def test_the_whole_life_of_a_folder(site: Site, run: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    base = add(site, b"base", name="Überflug (1) 100%.zip")
    top = add(site, b"top", requires=(base,), title="Top of all")
    draft = new_mod(site)
    assert [mod["guid"] for mod in run(0, "search", "top of")["mods"]] == [top["guid"]]
    report = run(0, "install", top["guid"].upper())
    assert [mod["guid"] for mod in report["installed"]] == [base["guid"], top["guid"]]
    installed = {
        f"{base['guid']}/Überflug (1) 100%25.zip".replace("%25", "%"): b"base",
        f"{top['guid']}/mod.zip": b"top",
    }
    assert files(folder) == installed
    assert run(ExitCode.NOT_AVAILABLE, "install", draft["guid"])["missing"] == [
        {"guid": draft["guid"], "requiredBy": []}
    ]
    assert run(0, "check")["same"] == 2
    lock = tmp_path / "mods.lock"
    run(0, "export-lock", "--output", str(lock))
    elsewhere = ["--into", str(tmp_path / "elsewhere")]
    assert main(["--url", told_url(folder), "install", "--lock", str(lock), *elsewhere]) == 0
    assert files(tmp_path / "elsewhere") == installed
    upload_asset(site, base, "code", name="mod.zip", version="2", content=b"newer")
    changed = run(ExitCode.DIFFERENT, "check")["changed"]
    assert [(mod["guid"], mod["version"], mod["bytes"]) for mod in changed] == [(base["guid"], "2", 5)]
    assert main(["install", "--lock", str(lock), *elsewhere]) == 0
    third = ["--url", told_url(folder), "install", "--lock", str(lock), "--into", str(tmp_path / "third")]
    assert main(third) == ExitCode.NOT_AVAILABLE
    assert [mod["guid"] for mod in run(0, "update")["updated"]] == [base["guid"]]
    assert files(folder) == {f"{base['guid']}/mod.zip": b"newer", f"{top['guid']}/mod.zip": b"top"}
    hide_mod(site, top)
    assert run(ExitCode.DIFFERENT, "check")["gone"] == [top["guid"]]
    assert [mod["guid"] for mod in run(ExitCode.NOT_AVAILABLE, "update")["missing"]] == [top["guid"]]
    run(0, "remove", top["guid"])
    assert files(folder) == {}


def told_url(folder: Path) -> str:
    """The service that the folder remembers."""
    return str(json.loads((folder / PRIVATE / "state.json").read_text("utf-8"))["url"])


def test_conflicts_are_said_before_anything_is_changed(site: Site, run: Callable[..., Any], folder: Path) -> None:
    base = add(site, b"one")
    rival = add(site, b"other", conflictsWith=[base["guid"]])
    top = add(site, b"top", requires=(rival,))
    run(0, "install", base["guid"])
    report = run(ExitCode.CONFLICT, "install", top["guid"])
    assert {mod["guid"] for mod in report["conflicts"][0]["pair"]} == {base["guid"], rival["guid"]}
    assert files(folder) == {f"{base['guid']}/mod.zip": b"one"}


def test_a_check_is_two_small_requests(site: Site, run: Callable[..., Any], served: str) -> None:
    mods = [published_mod(site) for _ in range(30)]
    run(0, "install", *(mod["guid"] for mod in mods))
    with site.counted() as statements:
        assert run(0, "check")["same"] == 30
    assert len(statements) <= 4


def test_a_check_sees_new_requirements_and_conflicts(site: Site, run: Callable[..., Any]) -> None:
    base, mod, rival = add(site, b"base"), add(site, b"mod"), add(site, b"rival")
    run(0, "install", mod["guid"], rival["guid"])
    site.as_account(OWNER).put_json(mod_address(mod), {"requires": [base["guid"]]}, status=200)
    assert run(ExitCode.DIFFERENT, "check")["required"] == [{"guid": base["guid"], "because": [mod["guid"]]}]
    assert [entry["guid"] for entry in run(0, "update")["installed"]] == [base["guid"]]
    run(0, "check")
    site.as_account(OWNER).put_json(mod_address(mod), {"conflictsWith": [rival["guid"]]}, status=200)
    assert len(run(ExitCode.DIFFERENT, "check")["conflicts"]) == 1
    run(ExitCode.CONFLICT, "update")


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("seed", range(4))
def test_through_a_bad_line(site: Site, served: str, folder: Path, bad_line: Callable[..., Any], seed: int) -> None:
    noise = random.Random(seed)
    mods: list[Any] = []
    complete: dict[str, bytes] = {}
    for _ in range(4):
        content = noise.randbytes(5 * MB // 2)
        mods.append(add(site, content, requires=tuple(mods)))
        complete[f"{mods[-1]['guid']}/mod.zip"] = content
    line = bad_line(seed, port=int(served.rpartition(":")[2]), cut=MB, flip=12 * MB, busy=0.1)
    words = ["install", mods[-1]["guid"], "--into", str(folder)]
    code = main(["--url", line.endpoint, *words])
    assert files(folder) == (complete if code == 0 else {})
    assert code in {ExitCode.DONE, ExitCode.BAD_ANSWER, ExitCode.UNREACHABLE}
    assert main(["--url", served, *words]) == 0
    assert files(folder) == complete


def test_a_replacement_between_plan_and_download(
    site: Site, run: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = add(site, b"first")
    fetch_all, calls = transfer.fetch_all, []

    def late(*arguments: Any) -> None:
        if not calls:
            calls.append(upload_asset(site, mod, "code", version="2", content=b"second"))
        fetch_all(*arguments)

    monkeypatch.setattr("modhub_client.get.installer.fetch_all", late)
    assert run(0, "install", mod["guid"])["installed"][0]["version"] == "2"
    assert list(files(folder).values()) == [b"second"]


def test_an_emptied_service(site: Site, run: Callable[..., Any], folder: Path) -> None:
    mod = add(site, b"kept here")
    run(0, "install", mod["guid"])
    site.as_account(OWNER).delete(mod_address(mod), status=204)
    assert run(ExitCode.DIFFERENT, "check")["gone"] == [mod["guid"]]
    assert list(files(folder).values()) == [b"kept here"]
