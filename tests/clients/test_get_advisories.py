"""``modhub-get`` and what the service warns of: how it asks, what it refuses, and how it ends."""

from hashlib import sha256

import pytest

from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode

from .conftest import files

ADVISED = 1


def test_check_warns_and_ends_with_1(fake, run, capsys, folder):
    # C-ADV-7
    good, bad = fake.add(1), fake.add(2, title="Rally\x1b HUD")
    run.install(good, bad)
    assert run(0, "check")["advised"] == []
    fake.advise(bad)
    # Another file whose digest begins as that of a good one is not meant.
    fake.advisories["other"] = {**fake.advisories[bad.sha256], "sha256": good.sha256[:5] + "0" * 59}
    report = run(ADVISED, "check")
    told = {"sha256": bad.sha256, "kind": "malware", "reason": "It steals.", "advice": "Delete it."}
    assert (report["advised"], report["same"]) == ([{"guid": bad.guid, **told}], 1)
    assert "warning: Rally\ufffd HUD: It steals. Delete it." in run.told
    assert main(["--url", fake.url, "--quiet", "check", "--into", str(folder)]) == ADVISED
    printed = capsys.readouterr()
    assert f"Advised (malware): Rally\ufffd HUD ({bad.guid})" in printed.out
    assert "It steals." in printed.err
    assert run(0, "check", "--offline")["advised"] == []


def test_a_warning_comes_before_all_else(fake, run, folder):
    # C-ADV-7
    mod, other = fake.add(1), fake.add(2)
    run.install(mod, other)
    fake.advise(mod)
    (folder / other.guid / "mod.zip").write_bytes(b"damaged")
    report = run(ADVISED, "check")
    assert (report["damaged"], report["same"]) == ([other.guid], 0)
    fake.advise(mod, withdrawnAt="2026-11-26T08:15:30.123456Z")
    assert run(ExitCode.DIFFERENT, "check")["advised"] == []


def test_install_refuses_and_changes_nothing(fake, run, folder):
    # C-ADV-7
    base, top = fake.add(1), fake.add(2, requires=[1])
    fake.advise(base)
    for words in (["install", top.guid], ["install", "--dry-run", top.guid]):
        report = run(ADVISED, *words)
        assert (report["error"], [told["guid"] for told in report["advised"]]) == ("advised", [base.guid])
        assert "--allow-advised" in report["message"]
    assert files(folder) == {}
    assert fake.fetched == []
    assert len(run(0, "install", "--allow-advised", top.guid)["installed"]) == 2
    assert run.install(top)["kept"] == 2


def test_update_refuses_the_new_file_and_takes_the_one_after_it(fake, run, folder):
    # C-ADV-7
    mod = fake.add(1, b"first")
    run.install(mod)
    fake.advise(fake.add(1, b"second"))
    assert run(ADVISED, "update")["error"] == "advised"
    assert [*files(folder).values()] == [b"first"]
    fake.add(1, b"third")
    fake.advise(mod)
    run(0, "update")
    assert [*files(folder).values()] == [b"third"]
    fake.advise(fake.add(1, b"fourth"))
    run(0, "update", "--allow-advised")
    assert [*files(folder).values()] == [b"fourth"]


def test_a_lock_is_refused_too(fake, run, folder, tmp_path):
    # C-ADV-7
    mod = fake.add(1)
    run.install(mod)
    lock = tmp_path / "mods.lock"
    run(0, "export-lock", "--output", str(lock))
    run(0, "remove", mod.guid)
    fake.advise(mod)
    for words in ([], ["--dry-run"]):
        assert run(ADVISED, "install", "--lock", str(lock), *words)["error"] == "advised"
    assert files(folder) == {}
    run(0, "install", "--lock", str(lock), "--allow-advised")
    assert [*files(folder).values()] == [mod.content]


@pytest.mark.parametrize(("mods", "questions"), [(32, 32), (33, 1)])
def test_it_tells_five_digits_or_nothing(fake, run, mods, questions):
    # C-ADV-7, T-G10
    added = [fake.add(number) for number in range(mods)]
    fake.advisories = {}
    run.install(*added)
    fake.advise(added[-1])
    fake.asked_for_advisories.clear()
    assert [told["guid"] for told in run(ADVISED, "check")["advised"]] == [added[-1].guid]
    prefixes = sorted({sha256(mod.content).hexdigest()[:5] for mod in added})
    assert fake.asked_for_advisories == (prefixes if questions > 1 else [""])
    assert len(fake.asked_for_advisories) == questions


def test_a_service_without_advisories_is_asked_once(fake, run):
    # C-ADV-7
    run.install(*(fake.add(number) for number in range(9)))
    fake.asked_for_advisories.clear()
    run(0, "check")
    assert len(fake.asked_for_advisories) == 1


@pytest.mark.parametrize(
    "lie",
    [
        {"advisories": [1]},
        {"advisories": [{"sha256": "x", "kind": "", "reason": "", "advice": ""}]},
    ],
)
def test_an_answer_that_makes_no_sense_installs_nothing(fake, run, folder, lie):
    mod = fake.add(1)
    fake.changed = lambda path, answer: lie if path.startswith("/api/modhub/advisories") else answer
    run(ExitCode.BAD_ANSWER, "install", mod.guid)
    assert files(folder) == {}
