"""How ``modhub-get`` lets people name a mod, and what it lists, shows and would do."""

import json
from pathlib import Path

import pytest

from modhub_client.get.installation import PRIVATE
from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode
from modhub_client.names import ModReference, parse_reference

from .conftest import expected, files, renew

GUID = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"


@pytest.fixture
def lines(fake, folder, capsys):
    """`lines("list", …)`: what a command prints for people."""

    def call(*words, code=0):
        capsys.readouterr()
        assert main(["--url", fake.url, *words, "--into", str(folder)]) == code, capsys.readouterr()
        return capsys.readouterr().out.splitlines()

    return call


@pytest.mark.parametrize(
    ("word", "reference"),
    [
        (GUID, {"guid": GUID}),
        (f" {GUID.upper()} ", {"guid": GUID}),
        ("12", {"id": 12}),
        (f"modhub://install/{GUID.upper()}", {"guid": GUID}),
        ("https://mods.example.org/Modhub/12/?page=2#notes", {"id": 12, "service": "https://mods.example.org"}),
        ("http://a:81/sub/Modhub/12", {"id": 12, "service": "http://a:81/sub"}),
        ("https://a/Modhub/mine/12", {"id": 12, "service": "https://a"}),
        *((word, None) for word in ("0", "012", "٣", "9" * 19, "Rally", f"{GUID}0", "https://a/b/12")),
        *((word, None) for word in ("https:///Modhub/12", "https://[a/Modhub/1", f"modhub://remove/{GUID}")),
    ],
)
def test_what_names_a_mod(word, reference):
    assert parse_reference(word) == (None if reference is None else ModReference(word, **reference))


def test_a_mod_is_installed_and_removed_by_each_name(fake, run, folder):
    mod = fake.add(12)
    names = [mod.guid, "12", f"{fake.url}/Modhub/12", f"modhub://install/{mod.guid}"]
    for name in names:
        assert [entry["guid"] for entry in run(0, "install", name)["installed"]] == [mod.guid]
        fake.asked.clear()
        assert run(0, "remove", name)["removed"] == [mod.guid]
        assert fake.asked == []
    assert len(run(0, "install", *names)["installed"]) == 1
    assert run(0, "update", "--dry-run")["install"] == []


def test_what_is_not_there_or_elsewhere_is_refused(fake, run, folder):
    fake.add(12)
    assert "13" in run(ExitCode.NOT_AVAILABLE, "install", "13")["message"]
    run(ExitCode.NOT_AVAILABLE, "install", "12", f"{fake.url}/Modhub/13")
    elsewhere = ["https://mods.example.org/Modhub/12", f"{fake.url}/sub/Modhub/12", f"{fake.url}0/Modhub/12"]
    fake.asked.clear()
    for word in (*elsewhere, fake.url.replace("http:", "https:") + "/Modhub/12"):
        assert "another service" in run(ExitCode.WRONG_CALL, "install", word)["message"]
    for title in ("Mod 12", "mod 12", "Rally"):
        assert "Titles are for" in run(ExitCode.WRONG_CALL, "install", title)["message"]
    assert fake.asked == []
    assert not folder.exists()
    run(0, "install", "12")
    run(ExitCode.NOT_AVAILABLE, "remove", "13")
    run(ExitCode.WRONG_CALL, "remove", elsewhere[0])
    run(ExitCode.WRONG_CALL, "remove", "Mod 12")


def test_an_address_names_the_service_of_a_new_folder(fake, folder, tmp_path):
    mod = fake.add(12)
    page = f"{fake.url.replace('127.0.0.1', 'LocalHost')}/Modhub/12"
    assert main(["install", page, "--into", str(folder)]) == 0
    assert json.loads((folder / PRIVATE / "state.json").read_text())["url"].lower() in page.lower()
    assert files(folder) == expected(mod)
    assert main(["show", f"{fake.url}/Modhub/12"]) == 0
    # The folder's service is another one then.
    assert main(["install", "https://mods.example.org/Modhub/12", "--into", str(folder)]) == ExitCode.WRONG_CALL
    assert main(["install", "12", "--into", str(tmp_path / "none")]) == ExitCode.WRONG_CALL


def test_list(fake, run, lines):
    base, top = fake.add(1, title="Base"), fake.add(2, title="a top", requires=[1], version="2")
    run.install(top)
    fake.asked.clear()
    mods = run(0, "list")["mods"]
    assert [(mod["guid"], mod["requested"]) for mod in mods] == [(top.guid, True), (base.guid, False)]
    assert Path(mods[0]["path"]).read_bytes() == top.content
    assert lines("list") == [f"{top.guid}  a top 2", f"{base.guid}  Base 1 (required)", "2 of 2 mods"]
    assert lines("list", "A", "TOP") == [f"{top.guid}  a top 2", "1 of 2 mods"]
    assert fake.asked == []


def test_outdated(fake, run, lines):
    old, new, gone = fake.add(1), fake.add(2), fake.add(3)
    run.install(old, new, gone)
    assert run(0, "outdated")["outdated"] == []
    renew(old)
    del fake.mods[gone.guid]
    fake.asked.clear()
    report = run(0, "outdated")
    assert [(mod["guid"], mod["version"], mod["available"]) for mod in report["outdated"]] == [(old.guid, "1", "2")]
    assert report["gone"] == [gone.guid]
    assert len(fake.asked) == 1
    assert lines("outdated") == [
        f"{old.guid}  Mod 1 1 -> 2",
        f"{gone.guid}  Mod 3 1 is no longer on the service",
        "1 of 3 mods are outdated.",
    ]


def test_show(fake, run, lines):
    mod = fake.add(12, title="Rally", requires=[1])
    fake.add(1)
    run(0, "install", "1")
    shown = run(0, "show", "12")
    assert shown == {"exit": 0, "mod": mod.document, "installed": None}
    for name in (mod.guid, f"{fake.url}/Modhub/12", f"modhub://install/{mod.guid}", "rALLY", " Rally "):
        assert run(0, "show", name) == shown, name
    run(0, "install", "12")
    assert run(0, "show", "12")["installed"]["version"] == "1"
    printed = lines("show", "Rally")
    assert printed[0] == "Rally 1"
    assert f"  page       {fake.url}/Modhub/12" in printed
    assert any(line.startswith("  installed  1: ") for line in printed)
    assert main(["show", "--url", fake.url, "Rally"]) == 0
    run(ExitCode.NOT_AVAILABLE, "show", "13")
    run(ExitCode.NOT_AVAILABLE, "show", GUID)
    run(ExitCode.WRONG_CALL, "show", "https://mods.example.org/Modhub/12")


def test_a_title_that_says_too_little(fake, run):
    first, second = fake.add(1, title="Rally one"), fake.add(2, title="Rally two")
    message = run(ExitCode.NOT_AVAILABLE, "show", "Rally")["message"]
    assert first.guid in message
    assert second.guid in message
    assert run(0, "show", "Rally", "two")["mod"]["guid"] == second.guid
    fake.mods.clear()
    assert "No mod matches" in run(ExitCode.NOT_AVAILABLE, "show", "Rally")["message"]


@pytest.mark.parametrize("damage", [{"guid": ".."}, {"games": [1]}, {"assets": [{}]}, {"id": True}])
def test_a_mod_without_sense_is_not_shown(fake, run, damage):
    mod = fake.add(12)
    fake.changed = lambda _, answer: {**answer, **damage}
    for name in ("12", mod.guid):
        run(ExitCode.BAD_ANSWER, "show", name)


def test_a_dry_run_changes_nothing(fake, run, folder, tmp_path):
    base, top, unused = fake.add(1), fake.add(2, requires=[1, 3]), fake.add(3)
    report = run(0, "install", top.guid, "--dry-run")
    assert [mod["guid"] for mod in report["install"]] == [base.guid, unused.guid, top.guid]
    assert (report["dryRun"], report["install"][0]["bytes"]) == (True, len(base.content))
    assert not folder.exists()
    assert fake.fetched == []
    run(ExitCode.NOT_AVAILABLE, "install", GUID, "--dry-run")
    run.install(top)
    lock = tmp_path / "mods.lock"
    run(0, "export-lock", "--output", str(lock))
    elsewhere = tmp_path / "elsewhere"
    words = ["--url", fake.url, "install", "--lock", str(lock), "--into", str(elsewhere), "--dry-run"]
    assert main(words) == 0
    assert not elsewhere.exists()
    renew(top)
    top.requires = (base.guid,)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    report = run(0, "update", "--dry-run")
    assert [mod["version"] for mod in report["update"]] == ["2"]
    assert (report["install"], report["remove"]) == ([], [unused.guid])
    assert set(run(0, "remove", top.guid, "--dry-run")["remove"]) == {base.guid, top.guid, unused.guid}
    assert run(0, "install", "--lock", str(lock), "--dry-run")["install"] == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    run(0, "update")
    run(ExitCode.NOT_AVAILABLE, "install", "--lock", str(lock), "--dry-run")
    del fake.mods[top.guid]
    assert [gap["guid"] for gap in run(ExitCode.NOT_AVAILABLE, "update", "--dry-run")["missing"]] == [top.guid]


def test_quiet_is_silent_if_all_is_well(fake, run, lines):
    mod = fake.add(1)
    for words in (["install", mod.guid], ["update"], ["check"]):
        assert lines("-q", *words) == lines(*words, "--quiet") == []
    assert lines("list", "--quiet")[0].startswith(mod.guid)
    renew(mod)
    assert lines("check", "-q", code=ExitCode.DIFFERENT) == [
        f"Update: Mod 1 ({mod.guid}) 2",
        "0 of 1 mods are as they should be.",
    ]
    assert run(0, "update", "--quiet")["updated"][0]["guid"] == mod.guid
