"""Files that their user edited: ``modhub-get`` replaces and removes them, but keeps a copy and says so."""

import errno
from pathlib import Path

from modhub_client.get import folder as folder_module
from modhub_client.get.folder import local_problem
from modhub_client.get.installation import PRIVATE
from modhub_client.get.outcome import ExitCode

from .conftest import renew


def edit(folder, mod, content=b"mine"):
    (folder / mod.guid / mod.name).write_bytes(content)


def test_an_update_keeps_a_copy_of_an_edited_file(fake, run, folder):
    edited, renamed, plain = fake.add(1), fake.add(2), fake.add(3)
    run.install(edited, renamed, plain)
    edit(folder, edited)
    edit(folder, renamed, b"mine, too")
    renew(edited, renamed, plain)
    renamed.name = "other.zip"
    report = run(0, "update")
    copies = {copy["guid"]: Path(copy["path"]) for copy in report["edited"]}
    assert {guid: copy.read_bytes() for guid, copy in copies.items()} == {
        edited.guid: b"mine",
        renamed.guid: b"mine, too",
    }
    assert all(f"a copy of the edited file is {copy}" in run.told for copy in copies.values())
    assert (folder / edited.guid / edited.name).read_bytes() == b"newer 1"
    assert [path.name for path in (folder / renamed.guid).iterdir()] == ["other.zip"]
    report = run(0, "update")
    assert (report["edited"], run.told) == ([], "")


def test_each_edit_is_kept_once(fake, run, folder):
    mod = fake.add(1)
    run.install(mod)
    for content in (b"first", b"second", b"first", b""):
        edit(folder, mod, content)
        run(0, "update")
    copies = list((folder / PRIVATE / "edited" / mod.guid).iterdir())
    assert sorted(copy.read_bytes() for copy in copies) == [b"first", b"second"]
    assert all(copy.name.endswith(f"-{mod.name}") for copy in copies)


def test_what_is_removed_or_was_there_before_is_kept_too(fake, run, folder):
    base, top, other = fake.add(1), fake.add(2, requires=[1]), fake.add(3)
    run.install(top)
    edit(folder, base)
    report = run(0, "remove", top.guid)
    assert [Path(copy["path"]).read_bytes() for copy in report["edited"]] == [b"mine"]
    assert run.told.count("\n") == 1
    (folder / other.guid).mkdir()
    edit(folder, other, b"made by hand")
    report = run.install(other)
    assert [Path(copy["path"]).read_bytes() for copy in report["edited"]] == [b"made by hand"]


def test_nothing_is_replaced_if_the_copy_has_no_room(fake, run, folder, monkeypatch):
    mod = fake.add(1)
    run.install(mod)
    edit(folder, mod)
    renew(mod)

    def full(*_):
        raise local_problem(OSError(errno.ENOSPC, "No space left on device"))

    with monkeypatch.context() as patched:
        patched.setattr(folder_module, "_write_whole", full)
        run(ExitCode.FOLDER, "update")
    assert (folder / mod.guid / mod.name).read_bytes() == b"mine"
    assert not (folder / PRIVATE / "journal.json").exists()
    run(0, "update")
    assert (folder / mod.guid / mod.name).read_bytes() == b"newer 1"
