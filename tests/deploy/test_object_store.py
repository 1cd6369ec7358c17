"""The store of ``s3://`` on a real object store: the shared suite, and the faults of the line to it."""

import hashlib
import io
import time

import pytest

from modhub.base.errors import ApiError
from modhub.blobs.s3 import connection
from modhub.blobs.s3.connection import WINDOW_BYTES
from modhub.blobs.s3.pieces import PIECE_BYTES
from modhub.blobs.store import RemoteFile
from modhub_testing.blob_store_rules import CONTENT, BlobStoreSuite, Dribble
from modhub_testing.object_store import KEY, SECRET_KEY

LONG = b"".join(b"%015d\n" % number for number in range((2 * PIECE_BYTES + 48_000) // 16))
"""Three pieces of an upload, three windows of a download."""


@pytest.fixture(autouse=True)
def a_short_rest(monkeypatch):
    monkeypatch.setattr(connection, "REST_SECONDS", 0.3)


@pytest.fixture
def store(object_store, line, prefix):
    """A store behind the line."""
    return object_store.store(prefix, line.endpoint)


def published(store, content):
    blob = store.stage(io.BytesIO(content), len(content))
    store.publish(blob.key)
    return blob


def part(store, blob, start, stop):
    with store.open(blob.key, blob.size, blob.sha256) as opened:
        assert isinstance(opened, RemoteFile)
        with opened.fetch(start, stop) as file:
            assert type(file) is io.FileIO
            return file.read(stop - start)


class TestS3StoreSuite(BlobStoreSuite):
    """What every store does."""

    @pytest.fixture(autouse=True)
    def server(self, object_store, prefix):
        self.object_store = object_store
        self.prefix = prefix

    def make_store(self):
        return self.object_store.store(self.prefix)

    def overwrite(self, store, key, content):
        self.object_store.object(f"{self.prefix}/{key}", content)


@pytest.mark.parametrize("size", [PIECE_BYTES, PIECE_BYTES + 1, len(LONG)])
def test_uploads_of_several_pieces_are_whole(object_store, store, prefix, size):
    content = LONG[:size]
    blob = store.stage(Dribble(content, step=100_003), size)
    assert (blob.size, blob.sha256) == (size, hashlib.sha256(content).hexdigest())
    assert object_store.object(f"{prefix}/{blob.key}") == content
    store.publish(blob.key)
    assert part(store, blob, 0, size) == content


@pytest.mark.parametrize("kind", [ConnectionResetError, FileNotFoundError])
def test_nothing_of_an_upload_is_left_when_its_sender_is_lost(object_store, store, kind):
    before = object_store.unfinished_uploads()  # those of other tests, whose line was cut
    lost = kind("the client went away")
    with pytest.raises(kind) as caught:
        store.stage(Dribble(LONG, step=1_000_000, error=lost), 2 * len(LONG))
    assert caught.value is lost
    with pytest.raises(ApiError) as refusal:
        store.stage(io.BytesIO(LONG), len(LONG) - 1)
    assert refusal.value.status == 413
    assert list(store.keys()) == []
    assert object_store.unfinished_uploads() == before


def test_a_fresh_process_checks_the_whole_once_and_then_reads_parts_alone(object_store, line, prefix):
    blob = published(object_store.store(prefix), LONG)
    fresh = object_store.store(prefix, line.endpoint)
    assert part(fresh, blob, 5, 25) == LONG[5:25]
    assert line.passed > len(LONG)
    line.passed = 0
    middle = WINDOW_BYTES - 10, WINDOW_BYTES + 10
    assert part(fresh, blob, *middle) == LONG[slice(*middle)]
    assert part(fresh, blob, len(LONG) - 3, len(LONG)) == LONG[-3:]
    fresh.open(blob.key, blob.size, blob.sha256).close()
    assert 0 < line.passed < 20_000


@pytest.mark.parametrize("fault", ["refuse", 500, 403, "lose", ("flip", b"00077777")])
@pytest.mark.parametrize("content", [CONTENT + b"00077777", LONG], ids=["short", "long"])
def test_a_disturbed_upload_is_refused_and_nothing_kept(object_store, line, prefix, fault, content):
    # T-F5, C-ERR-15
    store = object_store.store(prefix, line.endpoint)
    store.probe()
    line.fault = fault
    began = time.monotonic()
    with pytest.raises(ApiError) as caught:
        store.stage(io.BytesIO(content), len(content))
    assert (caught.value.status, caught.value.code) == (502, "storage_refused")
    assert time.monotonic() - began < 20
    # What came through although the answer was lost is an orphan for the sweep: it has no row.
    if fault != "lose":
        assert list(object_store.store(prefix).keys()) == []
    line.fault = None
    time.sleep(0.4 if fault in {"refuse", 500, "lose"} else 0)
    blob = published(store, content)
    assert part(store, blob, 0, blob.size) == content


def test_publishing_makes_sure_that_the_object_is_still_there(object_store, store, prefix):
    # C-ERR-15: a sweep may have taken it.
    for change in (None, CONTENT[:-1] + b"?"):
        blob = store.stage(io.BytesIO(CONTENT), 1000)
        if change is None:
            object_store.store(prefix).delete(blob.key)
        else:
            object_store.object(f"{prefix}/{blob.key}", change)
        with pytest.raises(ApiError) as refusal:
            store.publish(blob.key)
        assert refusal.value.code == "storage_refused"


def test_an_object_that_is_changed_while_it_is_read_is_not_given_out(object_store, store, prefix):
    # T-F10, T-F5
    blob = published(store, LONG)
    with store.open(blob.key, blob.size, blob.sha256) as opened:
        assert isinstance(opened, RemoteFile)
        object_store.object(f"{prefix}/{blob.key}", LONG[:-1] + b"?")
        with pytest.raises(ApiError) as refusal:
            opened.fetch(0, 100)
    assert refusal.value.code == "storage_unreachable"


@pytest.mark.parametrize("fault", ["refuse", 503, ("cut", 20_000), ("flip", b"00077777")])
def test_a_disturbed_download_is_503_and_never_wrong(object_store, line, prefix, fault):
    # T-F5, C-ERR-16
    blob = published(object_store.store(prefix), LONG)
    fresh = object_store.store(prefix, line.endpoint)
    line.fault = fault
    with pytest.raises(ApiError) as caught:
        fresh.open(blob.key, blob.size, blob.sha256)
    assert (caught.value.status, caught.value.code) == (503, "storage_unreachable")
    assert fresh.verify(blob.key, blob.size, blob.sha256) is not None


def test_a_silent_store_is_given_up_in_time_and_then_refused_at_once(line, store, monkeypatch):
    # T-F5, C-ERR-15
    monkeypatch.setattr(connection, "REST_SECONDS", 1.0)
    line.fault = "silent"
    began = time.monotonic()
    with pytest.raises(ApiError) as refusal:
        store.stage(io.BytesIO(LONG), len(LONG))
    assert refusal.value.code == "storage_refused"
    assert time.monotonic() - began < 20
    began = time.monotonic()
    with pytest.raises(ApiError) as refusal:
        store.open("0" * 32, 1, "0" * 64)
    assert refusal.value.code == "storage_unreachable"
    assert time.monotonic() - began < 0.5
    line.fault = None
    time.sleep(1)
    store.probe()


def test_neither_log_nor_answer_names_the_store_or_its_keys(object_store, line, prefix, caplog):
    for line.fault in ("refuse", 503, 403):
        store = object_store.store(prefix, line.endpoint)
        with pytest.raises(ApiError):
            store.probe()
        with pytest.raises(ApiError):
            store.open("0" * 32, 1, "0" * 64)
        store.discard("0" * 32)
    log = caplog.text
    assert "ALARM: the file store is not available: it does not answer" in log
    assert "ALARM: the file store is not available: it refuses the key" in log
    assert not any(word in log for word in ("127.0.0.1", "modhub/test", KEY + "/", SECRET_KEY))
