"""``modhub-get`` against a stand-in service: what it installs, updates, checks, removes and locks."""

import json
import threading
from pathlib import Path

import pytest

from modhub_client.get.installation import PRIVATE
from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode

from .conftest import expected, files


def test_a_mod_and_what_it_requires(fake, run, folder):
    base, middle, top = fake.add(1), fake.add(2, requires=[1]), fake.add(3, requires=[2, 1])
    fake.add(4)
    report = run(0, "install", top.guid.upper())
    assert [mod["guid"] for mod in report["installed"]] == [base.guid, middle.guid, top.guid]
    assert Path(report["installed"][2]["path"]).read_bytes() == top.content
    assert files(folder) == expected(base, middle, top)
    assert list((folder / PRIVATE / "parts").iterdir()) == []
    fake.asked.clear()
    assert run.install(top)["kept"] == 3
    assert [call for call, _ in fake.asked] == ["POST /api/modhub/plan"]


def test_an_update_fetches_what_has_changed_alone(fake, run, folder):
    base, old, top = fake.add(1), fake.add(2), fake.add(3, requires=[1, 2])
    run.install(top)
    assert run(0, "update")["updated"] == []
    base.content, base.version, base.name = b"newer", "2", "other.zip"
    top.requires = (base.guid,)
    top.content = b"newest"
    fake.asked.clear()
    report = run(0, "update")
    assert {mod["guid"] for mod in report["updated"]} == {base.guid, top.guid}
    assert report["removed"] == [old.guid]
    assert files(folder) == expected(base, top)
    assert not (folder / old.guid).exists()
    assert len(fake.fetched) == 2


def test_damaged_files_are_installed_again(fake, run, folder):
    mod = fake.add(1)
    run.install(mod)
    (folder / mod.guid / mod.name).write_bytes(b"x" * len(mod.content))
    assert run(ExitCode.DIFFERENT, "check")["damaged"] == [mod.guid]
    run(0, "update")
    assert files(folder) == expected(mod)
    (folder / mod.guid / mod.name).unlink()
    run.install(mod)
    assert files(folder) == expected(mod)


def test_check_sees_what_an_update_would_do(fake, run, folder):
    base, mod, rival = fake.add(1), fake.add(2), fake.add(3)
    unused = fake.add(4)
    mod.requires = (unused.guid,)
    run.install(mod, rival)
    fake.asked.clear()
    assert run(0, "check").keys() == {
        *("exit", "damaged", "changed", "gone", "advised", "same", "required", "conflicts", "missing", "unneeded")
    }
    assert [call for call, _ in fake.asked] == ["POST /api/modhub/updates", "POST /api/modhub/plan"]
    mod.requires = (base.guid,)
    report = run(ExitCode.DIFFERENT, "check")
    assert (report["same"], report["unneeded"]) == (3, [unused.guid])
    assert report["required"] == [{"guid": base.guid, "because": [mod.guid]}]
    assert [entry["guid"] for entry in run(0, "update")["installed"]] == [base.guid]
    run(0, "check")
    mod.conflicts = (rival.guid,)
    pair = run(ExitCode.DIFFERENT, "check")["conflicts"][0]["pair"]
    assert {entry["guid"] for entry in pair} == {mod.guid, rival.guid}
    run(ExitCode.CONFLICT, "update")
    run(0, "check", "--allow-conflicts")
    mod.conflicts = ()
    mod.requires = (base.guid, absent := "0" * 8 + "-0000" * 3 + "-" + "0" * 12)
    del fake.mods[rival.guid]
    report = run(ExitCode.DIFFERENT, "check")
    assert ([gap["guid"] for gap in report["missing"]], report["gone"]) == ([absent], [rival.guid])
    run(ExitCode.NOT_AVAILABLE, "update")
    run(0, "check", "--offline")


def test_what_a_mod_newly_requires_is_remembered(fake, run, folder):
    base, mod, other = fake.add(1), fake.add(2), fake.add(3, requires=[1])
    run.install(mod, other)
    mod.requires = (base.guid,)
    run(0, "update")
    run(0, "remove", other.guid)
    assert files(folder) == expected(base, mod)


def test_remove_takes_what_only_that_mod_required(fake, run, folder):
    base, shared, removed, kept = fake.add(1), fake.add(2), fake.add(3, requires=[1, 2]), fake.add(4, requires=[2])
    run.install(removed, kept)
    (folder / removed.guid / "notes.txt").write_text("mine")
    fake.asked.clear()
    assert run(ExitCode.CONFLICT, "remove", shared.guid)["required"] == [shared.guid]
    assert run(ExitCode.NOT_AVAILABLE, "remove", fake.add(9).guid)["error"] == "not_available"
    assert set(run(0, "remove", removed.guid)["removed"]) == {removed.guid, base.guid}
    assert files(folder) == {**expected(shared, kept), f"{removed.guid}/notes.txt": b"mine"}
    assert fake.asked == []


def test_a_lock_installs_the_same_files_elsewhere_or_none(fake, run, folder, tmp_path):
    base, top = fake.add(1, version="ä \U0001f600"), fake.add(2, requires=[1])
    run.install(top)
    lock = tmp_path / "mods.lock"
    run(0, "export-lock", "--output", str(lock))
    assert run(0, "export-lock") == json.loads(lock.read_text("utf-8"))
    elsewhere = tmp_path / "elsewhere"
    words = ["--url", fake.url, "install", "--lock", str(lock), "--into", str(elsewhere)]
    assert main(words) == 0
    assert files(elsewhere) == files(folder) == expected(base, top)
    # Nothing to fetch, so no service is needed.
    fake.asked.clear()
    assert main(words) == 0
    assert fake.asked == []
    assert main(["remove", top.guid, "--into", str(elsewhere)]) == 0
    assert files(elsewhere) == {}
    forged = lock.read_text("utf-8").replace(base.sha256, "0" * 64)
    base.content = b"replaced"
    del fake.mods[top.guid]
    assert main(words) == ExitCode.NOT_AVAILABLE
    assert files(elsewhere) == {}
    for damage in ("", "{}", "[" * 100_000, forged):
        lock.write_text(damage)
        assert main(words) == ExitCode.WRONG_CALL


def test_nothing_is_changed_if_something_is_missing_or_conflicts(fake, run, folder):
    incomplete, conflicting = fake.add(1, requires=[9]), fake.add(2, conflicts=(fake.add(1).guid,))
    fake.mods[incomplete.guid] = incomplete
    report = run(ExitCode.NOT_AVAILABLE, "install", incomplete.guid)
    assert report["missing"][0]["requiredBy"] == [incomplete.guid]
    run(ExitCode.NOT_AVAILABLE, "install", "0" * 8 + "-0000-0000-0000-" + "0" * 12)
    assert files(folder) == {}
    run(0, "install", incomplete.guid, "--allow-missing")
    assert run(ExitCode.CONFLICT, "install", conflicting.guid, "--allow-missing")["conflicts"][0]["pair"]
    assert files(folder) == expected(incomplete)
    run(0, "install", conflicting.guid, "--allow-conflicts")
    assert files(folder) == expected(incomplete, conflicting)


def test_more_mods_than_one_plan_takes(fake, run, folder):
    mods = [fake.add(1000), *(fake.add(number, requires=[1000]) for number in range(501))]
    assert len(run(0, "install", *(mod.guid for mod in mods), "--jobs", "8")["installed"]) == 502
    assert files(folder) == expected(*mods)
    fake.asked.clear()
    assert run(0, "check")["same"] == 502
    assert len(fake.asked) == 4
    assert run(0, "update")["kept"] == 502


def test_a_lookup_that_names_the_rest_is_asked_again(fake, run, folder):
    # C-SYNC-16
    fake.mods_at_once = 7
    mods = [fake.add(number) for number in range(15)]
    top = fake.add(99, requires=range(15))
    run.install(top)
    assert files(folder) == expected(*mods, top)
    assert sum("/lookup" in call for call, _ in fake.asked) == 3


def test_search_lists_guids(fake, run, capsys):
    mod = fake.add(1)
    assert [entry["guid"] for entry in run(0, "search", "two", "words", "--game", "Portal 2")["mods"]] == [mod.guid]
    assert fake.asked[0][0] == "GET /api/modhub?q=two+words&game=Portal+2&sort=new&page=1&size=20"
    assert main(["search", "--url", fake.url]) == 0
    assert capsys.readouterr().out == f"{mod.guid}  Mod 1 1\n1 of 1 mods\n"


def test_a_folder_remembers_its_service(fake, run, folder, monkeypatch):
    mod = fake.add(1)
    monkeypatch.setenv("MODHUB_URL", fake.url)
    assert main(["install", mod.guid, "--into", str(folder)]) == 0
    monkeypatch.setenv("MODHUB_URL", "http://127.0.0.1:9")
    assert main(["update", "--into", str(folder)]) == 0
    # A service that has moved.
    moved = fake.url.replace("127.0.0.1", "localhost")
    run(0, "update", url=moved)
    assert json.loads((folder / PRIVATE / "state.json").read_text("utf-8"))["url"] == moved
    monkeypatch.chdir(folder)
    assert main(["check"]) == 0


def test_without_the_service(fake, run, folder):
    mod = fake.add(1)
    run.install(mod)
    before = files(folder)
    for words in (["update"], ["check"], ["install", mod.guid], ["install", fake.add(2).guid]):
        report = run(ExitCode.UNREACHABLE, *words, url="http://127.0.0.1:9")
        assert "127.0.0.1:9" in report["message"]
    assert files(folder) == before
    run(0, "check", "--offline", url="http://127.0.0.1:9")
    run(0, "export-lock")
    run(0, "remove", mod.guid)


def test_files_are_fetched_side_by_side(fake, run):
    mods = [fake.add(number) for number in range(4)]
    together = threading.Barrier(4, timeout=60)
    fake.served = lambda *_: together.wait() and None
    run(0, "install", *(mod.guid for mod in mods), "--jobs", "4")


def test_no_credential_is_ever_sent(fake, run, monkeypatch, tmp_path):
    # C-PRO-1
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("MODHUB_API_KEY", "a-key")
    mod = fake.add(1)
    run(0, "search")
    run.install(mod)
    run(0, "check")
    names = {name for _, headers in fake.asked for name in headers}
    conditions = {"If-Match", "If-Range", "Range"}
    plain = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Content-Type", "Content-Length"}
    assert names <= plain | conditions
    run(ExitCode.WRONG_CALL, "search", url=fake.url.replace("//", "//me:secret@"))


@pytest.mark.parametrize(
    "words", [["install"], ["install", "no-guid"], ["install", "--lock", "/does/not/exist"], ["update"]]
)
def test_wrong_calls_send_nothing(fake, run, folder, words):
    assert run(ExitCode.WRONG_CALL, *words)["error"] == "wrong_call"
    assert fake.asked == []
    assert files(folder) == {}


@pytest.mark.parametrize("url", ["mods.example.org", "ftp://a", "https://a?b", "https://a:x"])
def test_a_wrong_address(run, url):
    run(ExitCode.WRONG_CALL, "search", url=url)
