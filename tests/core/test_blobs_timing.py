"""A measured store is a store, and says what its calls took."""

import io
from pathlib import Path
from typing import BinaryIO

import pytest

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore
from modhub.blobs.store import RemoteFile, ServedByProxy
from modhub.blobs.timing import MeasuredStore, StoreTimes
from modhub_testing.blob_store_rules import CONTENT, BlobStoreSuite


class FetchedFile(io.FileIO):
    """A file that is fetched in parts, as one of an object store."""

    def fetch(self, start: int, _stop: int) -> BinaryIO:
        part = Path(str(self.name)).open("rb", buffering=0)  # noqa: SIM115 - its reader closes it
        part.seek(start)
        return part  # type: ignore[return-value] # a raw file


class RemoteStore(LocalStore):
    """Gives out files that are fetched in parts."""

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        super().open(key, size, sha256).close()
        return FetchedFile(self.spool_folder.parent / key[:2] / key[2:])  # type: ignore[return-value]


class TestMeasuredStore(BlobStoreSuite):
    store_class: type[LocalStore] = LocalStore

    @pytest.fixture(autouse=True)
    def root(self, tmp_path: Path) -> None:
        self.path = tmp_path / "files"
        self.times = StoreTimes()

    def make_store(self) -> MeasuredStore:
        return MeasuredStore(self.store_class(self.path), self.times)

    def overwrite(self, store: MeasuredStore, key: str, content: bytes) -> None:
        (self.path / key[:2] / key[2:]).write_bytes(content)

    def counts(self) -> dict[str, tuple[int, int]]:
        return {name: (times.calls, times.errors) for name, times in self.times.times().items() if times.calls}

    def test_calls_and_failures_are_counted(self, store: MeasuredStore) -> None:
        # C-RUN-26
        blob = self.publish_blob(store)
        store.put(blob, io.BytesIO(CONTENT))
        store.verify(blob.key, blob.size, blob.sha256)
        store.probe()
        with pytest.raises(ApiError, match="larger"):
            store.stage(io.BytesIO(CONTENT), 1)
        self.overwrite(store, blob.key, b"other")
        with pytest.raises(ApiError):
            store.open(blob.key, blob.size, blob.sha256)
        store.delete(blob.key)
        store.discard(blob.key)
        once, failed = (1, 0), (1, 1)
        others = dict.fromkeys(("publish", "put", "verify", "probe", "delete", "discard"), once)
        assert self.counts() == {"stage": (2, 0), "open": failed, **others}
        assert 0 < self.times.times()["stage"].seconds < 60

    def test_a_proxy_may_send_the_files_of_such_a_store(self, store: MeasuredStore) -> None:
        blob = self.publish_blob(store)
        assert isinstance(store, ServedByProxy)
        assert store.internal_address(blob.key) is None
        proxied = MeasuredStore(LocalStore(self.path, proxy_location="/_files/"), self.times)
        assert proxied.internal_address(blob.key) == f"/_files/{blob.key[:2]}/{blob.key[2:]}"

    def test_the_server_gets_a_local_file_as_it_is(self, store: MeasuredStore) -> None:
        blob = self.publish_blob(store)
        with store.store.open(blob.key, blob.size, blob.sha256) as bare, store.open(*vars(blob).values()) as opened:
            assert type(opened) is type(bare)


class TestMeasuredRemoteStore(TestMeasuredStore):
    store_class = RemoteStore

    def test_the_server_gets_a_local_file_as_it_is(self, store: MeasuredStore) -> None:
        # Of a remote file: what it fetches.
        blob = self.publish_blob(store)
        with store.open(blob.key, blob.size, blob.sha256) as opened:
            assert isinstance(opened, RemoteFile)
            with opened.fetch(4, blob.size) as part:
                assert (type(part), part.read()) == (io.FileIO, CONTENT[4:])
            assert self.counts()["fetch"] == (1, 0)
            assert (opened.seek(4), opened.read(5), opened.tell()) == (4, CONTENT[4:9], 9)
        assert opened.closed
