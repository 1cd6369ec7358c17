"""The suite that every file store must pass: subclass :class:`BlobStoreSuite` in a test module, and pytest runs it.

What only a kind of store can show (a full disk, a refused signature, the order of fsync) belongs into tests of its own.
"""

import hashlib
import io
import os
import time
from abc import ABC, abstractmethod
from inspect import signature

import pytest

from modhub.blobs.store import COPY_BYTES, Blob, BlobStore, is_key, new_key
from modhub.errors import ApiError

CONTENT = b"The quick brown fox jumps over the lazy dog.\n" * 3


class Dribble:
    """A stream that gives a few bytes at a time, as a slow client does; then ends, or fails as a lost client does."""

    def __init__(self, content: bytes, step: int = 7, error: Exception | None = None) -> None:
        self._file = io.BytesIO(content)
        self._step = step
        self._error = error

    def read(self, size: int, /) -> bytes:
        """At most ``step`` bytes, whatever was asked for."""
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
        """Replace the content of a published blob behind the store's back."""

    @pytest.fixture
    def store(self) -> BlobStore:
        """The store under test."""
        return self.make_store()

    def published(self, store: BlobStore, content: bytes = CONTENT) -> Blob:
        """A blob that holds ``content`` and is published."""
        blob = store.stage(io.BytesIO(content), len(content))
        store.publish(blob.key)
        return blob

    def refused(self, store: BlobStore, blob: Blob) -> None:
        """The blob cannot be read: 503 with ``Retry-After``, not an absence."""
        with pytest.raises(ApiError) as caught:
            store.open(blob.key, blob.size, blob.sha256)
        assert (caught.value.status, caught.value.code) == (503, "storage_unreachable")
        assert int(caught.value.headers["Retry-After"]) > 0

    def test_has_every_method_of_a_store(self, store: BlobStore) -> None:
        """Each takes the arguments that the protocol names."""
        for name, method in vars(BlobStore).items():
            if not name.startswith("_") and callable(method):
                assert list(signature(getattr(type(store), name)).parameters) == list(signature(method).parameters)

    @pytest.mark.parametrize("size", [0, 1, 135, COPY_BYTES - 1, COPY_BYTES, COPY_BYTES + 1, 3 * COPY_BYTES])
    def test_gives_back_what_it_took(self, store: BlobStore, size: int) -> None:
        """Size, hash and bytes are those of the stream, also at the edges of the chunks."""
        content = os.urandom(size)
        blob = self.published(store, content)
        assert (blob.size, blob.sha256) == (size, hashlib.sha256(content).hexdigest())
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.tell() == 0
            assert file.read() == content
        assert store.verify(blob.key, blob.size, blob.sha256) is None

    def test_takes_a_stream_in_small_pieces(self, store: BlobStore) -> None:
        """A short read is not the end."""
        blob = store.stage(Dribble(CONTENT), 1000)
        assert (blob.size, blob.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())

    def test_reads_from_the_middle(self, store: BlobStore) -> None:
        """Ranges need ``seek``."""
        blob = self.published(store)
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.seekable()
            file.seek(10)
            assert file.read(5) == CONTENT[10:15]

    def test_keys_are_random(self, store: BlobStore) -> None:
        """The same content twice is two blobs: undoing one leaves the other."""
        one, two = self.published(store), self.published(store)
        assert one.key != two.key
        assert is_key(one.key)
        store.discard(one.key)
        assert store.verify(two.key, two.size, two.sha256) is None

    def test_a_key_of_another_form_is_a_mistake(self, store: BlobStore) -> None:
        """Nothing that comes from outside can become a path."""
        for key in ["", "../../etc/passwd", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n"]:
            with pytest.raises(ValueError, match="key"):
                store.open(key, 1, "0" * 64)
            with pytest.raises(ValueError, match="key"):
                store.delete(key)

    def test_the_limit_is_counted_and_nothing_is_kept(self, store: BlobStore) -> None:
        """Exactly the limit is taken, one byte more is the 413 that names it."""
        assert store.stage(io.BytesIO(CONTENT), len(CONTENT)).size == len(CONTENT)
        before = list(store.keys())
        with pytest.raises(ApiError) as caught:
            store.stage(Dribble(CONTENT + b"!"), len(CONTENT))
        assert caught.value.status == 413
        assert caught.value.extra == {"limitBytes": len(CONTENT)}
        assert list(store.keys()) == before

    def test_a_lost_client_is_not_the_stores_fault(self, store: BlobStore) -> None:
        """The stream's own error goes through, be it an ``OSError``, and nothing is kept."""
        lost = ConnectionResetError("the client went away")
        with pytest.raises(ConnectionResetError) as caught:
            store.stage(Dribble(CONTENT, error=lost), 1000)
        assert caught.value is lost
        assert list(store.keys()) == []

    def test_staged_is_not_readable(self, store: BlobStore) -> None:
        """Before the transaction commits nobody gets the bytes."""
        blob = store.stage(io.BytesIO(CONTENT), 1000)
        self.refused(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) is not None

    def test_publishing_what_is_not_staged_is_refused(self, store: BlobStore) -> None:
        """A vote must not succeed without a file."""
        with pytest.raises(ApiError) as caught:
            store.publish(new_key())
        assert (caught.value.status, caught.value.code) == (502, "storage_refused")

    def test_discard_and_delete_take_staged_and_published_and_absent(self, store: BlobStore) -> None:
        """Both may be called at any time, and again."""
        for remove in (store.discard, store.delete):
            staged, published = store.stage(io.BytesIO(CONTENT), 1000), self.published(store)
            for key in (staged.key, published.key, staged.key, published.key, new_key()):
                remove(key)
            assert list(store.keys()) == []

    def test_a_running_reader_keeps_the_old_bytes(self, store: BlobStore) -> None:
        """C-FILE-8."""
        blob = self.published(store, b"x" * (2 * COPY_BYTES))
        with store.open(blob.key, blob.size, blob.sha256) as file:
            assert file.read(10) == b"x" * 10
            store.delete(blob.key)
            assert file.read() == b"x" * (2 * COPY_BYTES - 10)

    def test_keys_lists_staged_and_published_with_their_age(self, store: BlobStore) -> None:
        """A sweep sees everything that takes space, and how old it is."""
        expected = {store.stage(io.BytesIO(CONTENT), 1000).key, self.published(store).key}
        listed = dict(store.keys())
        assert set(listed) == expected
        assert all(abs(time.time() - changed) < 60 for changed in listed.values())

    def test_missing_is_unreachable(self, store: BlobStore) -> None:
        """A row without its file: an alarm and 503, never 404."""
        blob = self.published(store)
        store.delete(blob.key)
        self.refused(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) == "It is missing."

    @pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT + b"!", CONTENT[:-1] + b"?"])
    def test_damage_is_seen_before_a_byte_leaves(self, store: BlobStore, damaged: bytes) -> None:
        """Cut, grown, or changed at the same length (T-F10), also after it was read once."""
        blob = self.published(store)
        store.open(blob.key, blob.size, blob.sha256).close()
        self.overwrite(store, blob.key, damaged)
        self.refused(store, blob)
        assert store.verify(blob.key, blob.size, blob.sha256) is not None
        self.overwrite(store, blob.key, CONTENT)
        store.open(blob.key, blob.size, blob.sha256).close()
        assert store.verify(blob.key, blob.size, blob.sha256) is None

    def test_probe_leaves_nothing(self, store: BlobStore) -> None:
        """A healthy store says nothing and keeps nothing."""
        store.probe()
        assert list(store.keys()) == []
