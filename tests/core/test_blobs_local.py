"""The store on local disk: the shared suite, and what is specific to disks."""

import errno
import hashlib
import io
import os
import time
from pathlib import Path

import pytest

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore, checksum_cache
from modhub_testing import count_open_files
from modhub_testing.blob_store_rules import CONTENT, BlobStoreSuite


def place(root, key):
    return root / key[:2] / key[2:]


def files(root):
    return [path for path in root.rglob("*") if path.is_file()]


def published(store, content=CONTENT):
    blob = store.stage(io.BytesIO(content), len(content))
    store.publish(blob.key)
    return blob


def opened(store, blob):
    return store.open(blob.key, blob.size, blob.sha256)


def refusal(call, *arguments):
    """Status and code of what ``call`` raises."""
    with pytest.raises(ApiError) as caught:
        call(*arguments)
    return caught.value.status, caught.value.code


def failing(code, calls=None):
    def fail(*_args, **_keywords):
        if calls is not None:
            calls.append(1)
        raise OSError(code, os.strerror(code), "/secret/path")

    return fail


class TestLocalStoreSuite(BlobStoreSuite):
    @pytest.fixture(autouse=True)
    def root(self, tmp_path):
        self.path = tmp_path / "files"

    def make_store(self):
        return LocalStore(self.path)

    def overwrite(self, store, key, content):
        place(self.path, key).write_bytes(content)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "files"


@pytest.fixture
def store(root):
    return LocalStore(root)


def test_nobody_else_may_look_in(store, root):
    staged = store.stage(io.BytesIO(CONTENT), 1000)
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "staging" / staged.key).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("open", errno.EMFILE),
        ("write", errno.ENOSPC),
        ("fsync", errno.EIO),
    ],
)
def test_a_disk_that_refuses_an_upload(store, monkeypatch, caplog, call, code):
    # T-F2
    before, calls = count_open_files(store._root), []
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(code, calls))
        assert refusal(store.stage, io.BytesIO(CONTENT), 1000) == (502, "storage_refused")
    assert len(calls) == 1, "it is not tried again"
    assert [*store.keys()] == []
    assert count_open_files(store._root) == before
    assert "ALARM" in caplog.text
    assert "secret" not in caplog.text
    assert store.stage(io.BytesIO(CONTENT), 1000).size == len(CONTENT), "it recovers by itself"


def test_a_disk_with_short_writes(store, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:10]))
    blob = published(store)
    monkeypatch.undo()
    assert store.verify(blob.key, blob.size, blob.sha256) is None


def test_the_order_that_survives_a_power_loss(store, root, monkeypatch):
    # T-F1
    """The bytes are synced before the rename, the shard after it."""
    events = []
    fsync, rename = os.fsync, Path.rename

    def told_fsync(descriptor):
        events.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def told_rename(path, target):
        events.append(("rename", target))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", told_fsync)
    monkeypatch.setattr(Path, "rename", told_rename)
    blob = published(store)
    target = place(root, blob.key)
    assert events == [("fsync", root / "staging" / blob.key), ("rename", target), ("fsync", target.parent)]


@pytest.mark.parametrize("name", ["rename", "fsync"])
def test_a_disk_that_refuses_to_publish(store, root, monkeypatch, name):
    blob = store.stage(io.BytesIO(CONTENT), 1000)
    with monkeypatch.context() as patch:
        patch.setattr(os if name == "fsync" else Path, name, failing(errno.EIO))
        assert refusal(store.publish, blob.key) == (502, "storage_refused")
    store.discard(blob.key)
    assert files(root) == []


def test_a_missing_root_is_not_recreated(store, root):
    """Below a missing mount the files would be lost to sight."""
    for folder in list(root.iterdir()):
        folder.rmdir()
    root.rmdir()
    for call, status in [
        (lambda: store.stage(io.BytesIO(CONTENT), 1000), 502),
        (store.probe, 503),
        (lambda: list(store.keys()), 503),
    ]:
        assert refusal(call)[0] == status
    assert not root.exists()


@pytest.mark.parametrize(("owner", "call"), [(Path, "open"), (hashlib, "file_digest")])
def test_a_file_that_cannot_be_read(store, monkeypatch, caplog, owner, call):
    blob, before = published(store), count_open_files(store._root)
    with monkeypatch.context() as patch:
        patch.setattr(owner, call, failing(errno.EIO))
        assert refusal(opened, store, blob)[0] == 503
        assert os.strerror(errno.EIO) in str(store.verify(blob.key, blob.size, blob.sha256))
    assert count_open_files(store._root) == before
    assert "secret" not in caplog.text


def test_a_store_that_is_away_is_one_line_for_all_files(store, root, caplog):
    blobs = [published(store) for _ in range(3)]
    root.rename(root.with_name("elsewhere"))
    for blob in blobs:
        assert refusal(opened, store, blob)[1] == "storage_unreachable"
    assert caplog.messages == ["ALARM: the file store is not available: No such file or directory"]


def later(monkeypatch, seconds=3.0):
    now = time.time_ns
    monkeypatch.setattr(checksum_cache.time, "time_ns", lambda: now() + int(seconds * 1e9))


def counted(monkeypatch):
    hashed = []
    digest = hashlib.file_digest

    def counting(file, name):
        hashed.append(1)
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", counting)
    return hashed


def test_a_settled_file_is_hashed_once(store, monkeypatch):
    blob = published(store)
    later(monkeypatch)
    hashed = counted(monkeypatch)
    for _ in range(5):
        with opened(store, blob) as file:
            assert file.read() == CONTENT
    assert len(hashed) == 1


def test_a_fresh_file_is_hashed_until_its_stamp_is_beyond_doubt(store, monkeypatch):
    blob = published(store)
    time_ns = time.time_ns()
    monkeypatch.setattr(checksum_cache.time, "time_ns", lambda: time_ns)
    hashed = counted(monkeypatch)
    for _ in range(3):
        opened(store, blob).close()
    assert len(hashed) == 3


def test_a_change_after_the_check_is_seen_though_the_times_are_set_back(store, root, monkeypatch):
    blob = published(store)
    path = place(root, blob.key)
    later(monkeypatch)
    opened(store, blob).close()
    before = path.stat()
    time.sleep(0.05)  # the kernel stamps changes in ticks of a few milliseconds
    with path.open("r+b") as file:
        file.write(b"?")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert refusal(opened, store, blob)[0] == 503


def test_foreign_files_are_not_ours_to_sweep(store, root):
    blob = published(store)
    (root / "README").write_text("by hand")
    (root / "lost+found").mkdir()
    (root / "lost+found" / ("0" * 32)).write_text("by fsck")
    (root / "ab" / "notes.txt").write_text("by hand")
    assert set(dict(store.keys())) == {blob.key}


def test_folders_that_were_tidied_away_come_back(store, root):
    for folder in list(root.iterdir()):
        folder.rmdir()
    store.probe()
    blob = published(store)
    assert store.verify(blob.key, blob.size, blob.sha256) is None


def test_removing_what_cannot_be_removed(store, monkeypatch, caplog):
    blob = published(store)
    monkeypatch.setattr(Path, "unlink", failing(errno.EACCES))
    store.discard(blob.key)
    assert "sweep" in caplog.text
    assert refusal(store.delete, blob.key)[0] == 503
    assert "secret" not in caplog.text


def test_what_is_remembered_is_bounded(root, monkeypatch):
    monkeypatch.setattr(checksum_cache, "MAX_CHECKSUMS", 2)
    store = LocalStore(root)
    blobs = [published(store) for _ in range(3)]
    later(monkeypatch)
    hashed = counted(monkeypatch)
    for index in (0, 1, 0, 2, 0, 1):  # the third pushes out the second, the least used
        opened(store, blobs[index]).close()
    assert len(hashed) == 4
