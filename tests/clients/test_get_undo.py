"""``modhub-get undo``, and updates that leave out young files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from modhub_client.get import folder as folder_module
from modhub_client.get.installation import PRIVATE
from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode

from .conftest import expected, files, renew


def kept(folder):
    place = folder / PRIVATE / "before"
    return sorted(place.iterdir()) if place.exists() else []


def test_undo_puts_back_what_the_last_update_replaced_and_removed(fake, run, folder):
    base, top, other = fake.add(1), fake.add(2, requires=[1]), fake.add(3)
    run.install(top, other)
    before, state = files(folder), run(0, "list")
    renew(top)
    top.name, top.requires = "other.zip", ()
    assert run(0, "update")["removed"] == [base.guid]
    assert files(folder) == expected(top, other)
    assert len(kept(folder)) == 2
    plan = run(0, "undo", "--dry-run")
    assert plan["restore"] == sorted([base.guid, top.guid])
    fake.asked.clear()
    report = run(0, "undo")
    assert [mod["guid"] for mod in report["restored"]] == sorted([base.guid, top.guid])
    assert (files(folder), run(0, "list"), kept(folder), fake.asked) == (before, state, [], [])
    assert run(ExitCode.NOT_AVAILABLE, "undo")["message"] == "There is no update to undo. Nothing was changed."
    assert [mod["guid"] for mod in run(0, "update")["updated"]] == [top.guid]
    run(0, "undo")
    assert files(folder) == before


def test_only_the_last_update_that_changed_a_file_is_kept(fake, run, folder):
    first, second = fake.add(1), fake.add(2)
    run.install(first, second)
    run(ExitCode.NOT_AVAILABLE, "undo")
    renew(first)
    run(0, "update")
    run(0, "update")
    renew(second)
    run(0, "update")
    assert [mod["guid"] for mod in run(0, "undo")["restored"]] == [second.guid]
    assert (folder / first.guid / first.name).read_bytes() == b"newer 1"


def test_undo_leaves_alone_what_was_changed_otherwise_since(fake, run, folder):
    first, second, third = fake.add(1), fake.add(2), fake.add(3)
    run.install(first, second, third)
    (folder / third.guid / third.name).write_bytes(b"mine")
    renew(first, second, third)
    run(0, "update")
    run(0, "remove", first.guid)
    # The edited file cannot come back: its copy is elsewhere.
    assert [mod["guid"] for mod in run(0, "undo")["restored"]] == [second.guid]
    assert not (folder / first.guid).exists()
    assert (folder / third.guid / third.name).read_bytes() == b"newer 3"


def test_undo_keeps_what_its_user_edited_and_believes_no_kept_file(fake, run, folder):
    mod = fake.add(1)
    run.install(mod)
    old = mod.content
    renew(mod)
    run(0, "update")
    (file,) = kept(folder)
    file.write_bytes(b"damaged")
    assert "is damaged" in run(ExitCode.FOLDER, "undo")["message"]
    assert (folder / mod.guid / mod.name).read_bytes() == b"newer 1"
    file.write_bytes(old)
    (folder / mod.guid / mod.name).write_bytes(b"mine")
    report = run(0, "undo")
    assert [Path(copy["path"]).read_bytes() for copy in report["edited"]] == [b"mine"]
    assert (folder / mod.guid / mod.name).read_bytes() == old


@pytest.mark.parametrize(("words", "links"), [(["update"], False), (["update"], True), (["undo"], True)])
def test_a_run_that_is_killed_leaves_nothing_half_done(fake, run, folder, monkeypatch, words, *, links):
    mods = [fake.add(1), fake.add(2), fake.add(3, requires=[1, 2])]
    if not links:
        monkeypatch.setattr("modhub_client.get.folder.os.link", no_links)
    run.install(*mods)
    before = files(folder)
    renew(*mods)
    mods[0].name = "renamed.zip"
    after = expected(*mods)
    if words == ["undo"]:
        run(0, "update")
        before, after = after, before
    steps = 0
    while True:
        with monkeypatch.context() as patched:
            kill_after(patched, steps)
            try:
                main(["--url", fake.url, "--quiet", *words, "--into", str(folder)])
            except Killed:
                steps += 1
            else:
                break
        present = files(folder)
        assert all(content in {before.get(path), after.get(path)} for path, content in present.items())
        assert {path.partition("/")[0] for path in present} == {mod.guid for mod in mods}
        # What was begun is finished without the service.
        assert run(0, "check", "--offline"), steps
        assert not (folder / PRIVATE / "journal.json").exists()
        # It is done, or nothing of it; either way all of it can still be done or undone.
        assert files(folder) in (before, after)
        if files(folder) == after:
            assert list((folder / PRIVATE / "parts").iterdir()) == []
            if words == ["update"]:
                run(0, "undo")
                assert files(folder) == before
            else:
                run(ExitCode.NOT_AVAILABLE, "undo")
                run(0, "update")
    assert steps > 6
    assert files(folder) == after


class Killed(BaseException):
    """Ends a run wherever it is."""


def no_links(*_):
    raise OSError("no links on this file system")


def kill_after(patched, steps):
    """End the run at the change of the folder after so many."""
    left = [steps]
    for name in ("replace_text", "move_into_place", "delete_file", "keep_copy", "sync_directory", "own_directory"):
        change = getattr(folder_module, name)

        def step(*words, change=change):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return change(*words)

        patched.setattr(folder_module, name, step)


def ago(days):
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%S.%fZ}"


def test_a_cooldown_leaves_out_young_files(fake, run, folder):
    young, old, gone = fake.add(1), fake.add(2), fake.add(3)
    run.install(young, old, gone)
    renew(young, old)
    young.uploaded_at, old.uploaded_at = ago(6.9), ago(7.1)
    planned = run(0, "update", "--cooldown", "7", "--dry-run")
    assert [mod["guid"] for mod in planned["waiting"]] == [young.guid]
    report = run(0, "update", "--cooldown", "7")
    assert [mod["guid"] for mod in report["updated"]] == [old.guid]
    assert report["waiting"] == [{"guid": young.guid, "version": "2", "uploadedAt": young.uploaded_at}]
    assert main(["--url", fake.url, "update", "--cooldown", "7", "--into", str(folder)]) == 0
    assert f"Left out for now: {young.guid} 2, uploaded {young.uploaded_at}" in run.capsys.readouterr().out
    assert [mod["guid"] for mod in run(0, "update")["updated"]] == [young.guid]
    # A file that is damaged here is no new one.
    (folder / young.guid / young.name).unlink()
    assert run(0, "update", "--cooldown", "7")["waiting"] == []
    assert files(folder) == expected(young, old, gone)


def test_a_cooldown_leaves_out_what_needs_a_young_mod(fake, run, folder):
    former, top, other = fake.add(1), fake.add(2, requires=[1]), fake.add(3)
    run.install(top, other)
    before = files(folder)
    new, between = fake.add(4), fake.add(5, requires=[4])
    renew(top)
    top.requires = (between.guid,)
    new.uploaded_at = ago(1)
    report = run(0, "update", "--cooldown", "3")
    assert [mod["guid"] for mod in report["waiting"]] == [new.guid, between.guid, top.guid]
    # What the present file requires stays, too.
    assert (files(folder), report["removed"]) == (before, [])
    new.uploaded_at = ago(4)
    report = run(0, "update", "--cooldown", "3")
    assert (report["waiting"], report["removed"]) == ([], [former.guid])
    assert files(folder) == expected(top, other, new, between)


def test_a_cooldown_needs_the_time_and_asks_for_no_advice_on_what_it_leaves_out(fake, run, folder):
    mod = fake.add(1)
    run.install(mod)
    renew(mod)
    mod.uploaded_at = "yesterday"
    run(ExitCode.BAD_ANSWER, "update", "--cooldown", "7")
    mod.uploaded_at = ago(1)
    fake.advise(mod)
    run(0, "update", "--cooldown", "7")
    run(ExitCode.ADVISED, "update")
    run(ExitCode.WRONG_CALL, "update", "--cooldown", "0")
