"""What ``modhub-get`` leaves in a folder: nothing after a refusal, no downloads on a full disk, no leftovers."""

import errno
import os
import time

import pytest

from modhub_client.get import transfer
from modhub_client.get.folder import exclusive_lock
from modhub_client.get.installation import PRIVATE, open_installation
from modhub_client.get.outcome import ExitCode
from modhub_client.output import ClientError


@pytest.fixture
def folder(tmp_path):
    """Below a folder that is not there."""
    return tmp_path / "new" / "mods"


def parts(folder):
    return [path.name for path in (folder / PRIVATE / "parts").iterdir()]


def test_a_refused_install_leaves_no_folders(fake, install, folder, tmp_path):
    mod, incomplete = fake.add(1), fake.add(2, requires=[9])
    rival = fake.add(3, conflicts=(mod.guid,))
    wrong = fake.add(4)
    fake.served = lambda served, _: (403, {}, b"") if served is wrong else None
    assert install(incomplete) == ExitCode.NOT_AVAILABLE
    assert install(mod, rival) == ExitCode.CONFLICT
    assert install(wrong) == ExitCode.BAD_ANSWER
    assert list(tmp_path.iterdir()) == []
    folder.mkdir(parents=True)
    assert install(incomplete) == ExitCode.NOT_AVAILABLE
    assert install(wrong) == ExitCode.BAD_ANSWER
    assert list(folder.iterdir()) == []
    assert install(mod) == 0
    before = sorted(folder.rglob("*"))
    assert install(incomplete) == ExitCode.NOT_AVAILABLE
    assert install(wrong) == ExitCode.BAD_ANSWER
    assert sorted(folder.rglob("*")) == before


def test_what_has_arrived_is_no_reason_to_keep_no_folder(fake, install, folder, monkeypatch):
    mod = fake.add(1, bytes(300_000))
    monkeypatch.setattr("modhub_client.get.service.ATTEMPTS", 1)
    fake.served = lambda mod, headers: (503, {}, b"") if "Range" in headers else cut(mod)
    assert install(mod, options=("--timeout", "1")) == ExitCode.UNREACHABLE
    assert parts(folder) == [f"{mod.guid}.{mod.sha256}"]
    assert not (folder / mod.guid).exists()


def cut(mod):
    """Most of the file, and then nothing."""
    headers = {"ETag": f'"{mod.sha256}"', "Content-Disposition": f'attachment; filename="{mod.name}"'}
    return 200, {**headers, "Content-Length": str(len(mod.content))}, mod.content[: len(mod.content) * 2 // 3]


def test_a_full_disk_is_not_kept_full(fake, install, folder, monkeypatch):
    small, large = fake.add(1), fake.add(2, bytes(3_000_000))
    write = transfer._append

    def full(file, chunk):
        if os.fstat(file.fileno()).st_size > 1_000_000:
            raise transfer.local_problem(OSError(errno.ENOSPC, "No space left on device"))
        write(file, chunk)

    monkeypatch.setattr(transfer, "_append", full)
    assert install(small) == 0
    leftover = folder / PRIVATE / "parts" / f"{small.guid}.{'0' * 64}"
    leftover.write_bytes(b"of an earlier run")
    assert install(large) == ExitCode.FOLDER
    assert parts(folder) == []
    assert not (folder / large.guid).exists()


def test_a_disk_that_is_full_when_files_are_put_in_place_keeps_them(fake, install, run, folder, monkeypatch):
    mod = fake.add(1)

    def full(*_):
        raise transfer.local_problem(OSError(errno.ENOSPC, "No space left on device"))

    with monkeypatch.context() as patched:
        patched.setattr("modhub_client.get.folder.move_into_place", full)
        assert install(mod) == ExitCode.FOLDER
    assert len(parts(folder)) == 1
    fake.mods.clear()
    run(0, "check", "--offline")
    assert (folder / mod.guid / mod.name).read_bytes() == mod.content


def test_old_leftovers_are_removed_at_start(fake, run, folder):
    run.install(fake.add(1))
    private = folder / PRIVATE
    old, new = (private / "parts" / f"{number}.{'0' * 64}" for number in (1, 2))
    killed = [private / ".state.json.abc", private / ".journal.json.abc"]
    for file in (old, new, *killed):
        file.write_bytes(b"x")
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    run(0, "check", "--offline")
    assert [file.exists() for file in (old, new, *killed)] == [False, True, False, False]


def test_a_lock_that_was_removed_in_between_is_no_lock(tmp_path, monkeypatch):
    lock = tmp_path / "lock"

    def removed(_descriptor):
        lock.unlink()

    monkeypatch.setattr("modhub_client.get.folder._lock", removed)
    with pytest.raises(ClientError), exclusive_lock(lock):
        pass


def test_a_refused_second_run_removes_nothing_of_the_first(fake, install, folder):
    mod = fake.add(1)
    with open_installation(folder, create=True):
        assert install(mod) == ExitCode.FOLDER
        assert (folder / PRIVATE / "lock").exists()
    assert not folder.exists()
