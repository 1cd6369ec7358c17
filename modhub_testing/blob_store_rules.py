"""Conformance suite for file stores: subclass :class:`BlobStoreSuite` in a test module, and pytest runs it.

What is specific to one kind of store (a full disk, a rejected signature, the order of fsync) needs its own tests.
"""

import hashlib
import io
import os
import time
from abc import ABC, abstractmethod
from inspect import signature

import pytest

from modhub.base.errors import ApiError
from modhub.blobs.store import COPY_BYTES, Blob, BlobStore, is_key, new_key

CONTENT = b"The quick brown fox jumps over the lazy dog.\n" * 3


class Dribble:
    """A stream that returns a few bytes at a time, as a slow client does; then it ends, or raises ``error``."""

    def __init__(self, content: bytes, step: int = 7, error: Exception | None = None) -> None:
        self._file = io.BytesIO(content)
        self._step = step
        self._error = error

    def read(self, size: int, /) -> bytes:
        """Return at most ``step`` bytes, whatever ``size`` is."""
        chunk = self._file.read(min(size, self._step))
        if not chunk and self._error is not None:
            raise self._error
        return chunk


class BlobStoreSuite(ABC):
    """The rules of :class:`~modhub.blobs.store.BlobStore`, one test each."""

    @abstractmethod
    def make_store(self) -> BlobStore:
        """An empty store."""

    @abstractmethod
    def overwrite(self, store: BlobStore, key: str, content: bytes) -> None:
        """Replace the content of a published blob, bypassing the store."""

    @pytest.fixture
    def store(self) -> BlobStore:
        """The store under test."""
        return self.make_store()

    def publish_blob(self, store: BlobStore, content: bytes = CONTENT) -> Blob:
        """Store and publish a blob with this content."""
        blob = store.stage(io.BytesIO(content), len(content))
        store.publish(blob.key)
        return blob

    def assert_unreadable(self, store: BlobStore, blob: Blob) -> None:
        """Opening the blob raises 503 with ``Retry-After``, not 404."""
        with pytest.raises(ApiError) as caught:
            store.open(blob.key, blob.size, blob.sha256)
        assert (caught.value.status, caught.value.code) == (503, "storage_unreachable")
        assert int(caught.value.headers["Retry-After"]) > 0

    def test_has_every_method_of_a_store(self, store: BlobStore) -> None:
        """Each has the parameters of the protocol."""
        for name, method in vars(BlobStore).items():
            if not name.startswith("_") and callable(method):
                assert list(signature(getattr(type(store), name)).parameters) == list(signature(method).parameters)

    @pytest.mark.parametrize("size", [0, 1, 135, COPY_BYTES - 1, COPY_BYTES, COPY_BYTES + 1, 3 * COPY_BYTES])
    def test_gives_back_what_it_took(self, store: BlobStore, size: int) -> None:
        """Size, hash and bytes match the stream, also at chunk boundaries."""
        content = os.urandom(size)
        blob = self.publish_blob(store, content)
        assert (blob.size, blob.sha256) == (size, hashlib.sha256(content).hexdigest())
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.tell() == 0
            assert file.read() == content
        assert store.verify(blob.key, blob.size, blob.sha256) is None

    def test_takes_a_stream_in_small_chunks(self, store: BlobStore) -> None:
        """A short read is not the end."""
        blob = store.stage(Dribble(CONTENT), 1000)
        assert (blob.size, blob.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())

    def test_reads_from_the_middle(self, store: BlobStore) -> None:
        """Ranges need ``seek``."""
        blob = self.publish_blob(store)
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.seekable()
            file.seek(10)
            assert file.read(5) == CONTENT[10:15]

    def test_keys_are_random(self, store: BlobStore) -> None:
        """The same content twice makes two blobs: undoing one keeps the other."""
        first, second = self.publish_blob(store), self.publish_blob(store)
        assert first.key != second.key
        assert is_key(first.key)
        store.discard(first.key)
        assert store.verify(second.key, second.size, second.sha256) is None

    def test_a_malformed_key_is_a_value_error(self, store: BlobStore) -> None:
        """Untrusted input never becomes a path."""
        for key in ["", "../../etc/passwd", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n"]:
            with pytest.raises(ValueError, match="key"):
                store.open(key, 1, "0" * 64)
            with pytest.raises(ValueError, match="key"):
                store.delete(key)

    def test_more_than_the_limit_is_rejected_and_leaves_nothing(self, store: BlobStore) -> None:
        """The limit is inclusive; one byte more is 413 with ``limitBytes``."""
        assert store.stage(io.BytesIO(CONTENT), len(CONTENT)).size == len(CONTENT)
        before = list(store.keys())
        with pytest.raises(ApiError) as caught:
            store.stage(Dribble(CONTENT + b"!"), len(CONTENT))
        assert caught.value.status == 413
        assert caught.value.extra == {"limitBytes": len(CONTENT)}
        assert list(store.keys()) == before

    def test_an_error_of_the_stream_is_passed_on(self, store: BlobStore) -> None:
        """Even an ``OSError`` of the stream is raised unchanged, and nothing is left."""
        error = ConnectionResetError("the client went away")
        with pytest.raises(ConnectionResetError) as caught:
            store.stage(Dribble(CONTENT, error=error), 1000)
        assert caught.value is error
        assert list(store.keys()) == []

    def test_staged_is_not_readable(self, store: BlobStore) -> None:
        """Nothing is readable before the transaction commits."""
        blob = store.stage(io.BytesIO(CONTENT), 1000)
        self.assert_unreadable(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) is not None

    def test_publishing_an_unknown_key_fails(self, store: BlobStore) -> None:
        """A vote must not succeed without a file."""
        with pytest.raises(ApiError) as caught:
            store.publish(new_key())
        assert (caught.value.status, caught.value.code) == (502, "storage_refused")

    def test_discard_and_delete_accept_staged_published_and_absent(self, store: BlobStore) -> None:
        """Both may be called at any time, and repeatedly."""
        for remove in (store.discard, store.delete):
            staged, published = store.stage(io.BytesIO(CONTENT), 1000), self.publish_blob(store)
            for key in (staged.key, published.key, staged.key, published.key, new_key()):
                remove(key)
            assert list(store.keys()) == []

    def test_a_running_reader_keeps_the_old_bytes(self, store: BlobStore) -> None:
        """A file that is open survives its deletion (C-FILE-8)."""
        blob = self.publish_blob(store, b"x" * (2 * COPY_BYTES))
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.read(10) == b"x" * 10
            store.delete(blob.key)
            assert file.read() == b"x" * (2 * COPY_BYTES - 10)

    def test_keys_lists_staged_and_published_with_their_age(self, store: BlobStore) -> None:
        """A sweep sees every file and its age."""
        expected = {store.stage(io.BytesIO(CONTENT), 1000).key, self.publish_blob(store).key}
        listed = dict(store.keys())
        assert set(listed) == expected
        assert all(abs(time.time() - changed) < 60 for changed in listed.values())

    def test_puts_a_copy_under_its_own_key(self, store: BlobStore) -> None:
        """Also over one that is there, damaged or not."""
        blob = Blob(new_key(), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
        for _ in range(2):
            store.put(blob, Dribble(CONTENT))
            listed = dict(store.keys())
            assert list(listed) == [blob.key]
            assert store.verify(blob.key, blob.size, blob.sha256) is None
            with store.open(blob.key, blob.size, blob.sha256) as file:
                assert file.read() == CONTENT
            self.overwrite(store, blob.key, CONTENT[:-1])

    @pytest.mark.parametrize("other", [b"", CONTENT[:-1], CONTENT + b"!", CONTENT[:-1] + b"?"])
    def test_a_copy_that_is_not_the_blob_is_refused(self, store: BlobStore, other: bytes) -> None:
        """A stream that differs leaves nothing, nor does one that breaks."""
        blob = Blob(new_key(), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
        with pytest.raises(ApiError) as caught:
            store.put(blob, io.BytesIO(other))
        assert (caught.value.status, caught.value.code) == (502, "storage_refused")
        with pytest.raises(ConnectionResetError):
            store.put(blob, Dribble(other, error=ConnectionResetError()))
        assert list(store.keys()) == []

    def test_missing_is_unreachable(self, store: BlobStore) -> None:
        """A row without its file is 503, never 404."""
        blob = self.publish_blob(store)
        store.delete(blob.key)
        self.assert_unreadable(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) == "It is missing."

    @pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT + b"!", CONTENT[:-1] + b"?"])
    def test_damage_is_detected_before_the_first_byte(self, store: BlobStore, damaged: bytes) -> None:
        """Truncated, extended, or changed at the same length (T-F10), also after an earlier read."""
        blob = self.publish_blob(store)
        store.open(blob.key, blob.size, blob.sha256).close()
        self.overwrite(store, blob.key, damaged)
        self.assert_unreadable(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) is not None
        self.overwrite(store, blob.key, CONTENT)
        store.open(blob.key, blob.size, blob.sha256).close()
        assert store.verify(blob.key, blob.size, blob.sha256) is None

    def test_probe_leaves_nothing(self, store: BlobStore) -> None:
        """A probe of a working store raises nothing and leaves nothing."""
        store.probe()
        assert list(store.keys()) == []
