"""A feature registers its own kind of store: in memory, checked by the shared suite."""

import hashlib
import io
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, BinaryIO

import pytest
from pyramid.config import Configurator

import modhub
from modhub.admin.program import Admin
from modhub.base.errors import storage_refused, storage_unreachable, too_large
from modhub.base.service_registry import find_service
from modhub.base.settings import Setting, StartRefused, text
from modhub.blobs.store import COPY_BYTES, Blob, BlobStore, Readable, is_key, new_key
from modhub.db import Databases
from modhub_testing import TEST_ACCOUNTS, TEST_SECRET, Start
from modhub_testing.blob_store_rules import BlobStoreSuite
from modhub_testing.mods import mod_address, published_mod

FEATURE = "modhub_memory"
UNSUPPORTED = "modhub.storage: not a supported URL; use file:///absolute/folder or s3://bucket/prefix"


class MemoryStore:
    """Files that last as long as the process."""

    def __init__(self) -> None:
        self.staged: dict[str, tuple[bytes, float]] = {}
        self.published: dict[str, tuple[bytes, float]] = {}

    def stage(self, stream: Readable, limit: int) -> Blob:
        content = b""
        while chunk := stream.read(COPY_BYTES):
            content += chunk
            if len(content) > limit:
                raise too_large(limit)
        key = new_key()
        self.staged[key] = content, time.time()
        return Blob(key, len(content), hashlib.sha256(content).hexdigest())

    def publish(self, key: str) -> None:
        if key not in self.staged:
            raise storage_refused()
        self.published[key] = self.staged.pop(key)

    def discard(self, key: str) -> None:
        self.delete(key)

    def put(self, blob: Blob, stream: Readable) -> None:
        content = b""
        while chunk := stream.read(COPY_BYTES):
            content += chunk
        if (len(content), hashlib.sha256(content).hexdigest()) != (blob.size, blob.sha256):
            raise storage_refused()
        self.published[blob.key] = content, time.time()

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        if self.verify(key, size, sha256) is not None:
            raise storage_unreachable()
        return io.BytesIO(self.published[key][0])

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        if not is_key(key):
            raise ValueError("not a key")
        if key not in self.published:
            return "It is missing."
        content = self.published[key][0]
        same = (len(content), hashlib.sha256(content).hexdigest()) == (size, sha256)
        return None if same else "It differs."

    def delete(self, key: str) -> None:
        if not is_key(key):
            raise ValueError("not a key")
        self.staged.pop(key, None)
        self.published.pop(key, None)

    def keys(self) -> Iterator[tuple[str, float]]:
        yield from [(key, changed) for key, (_, changed) in (self.staged | self.published).items()]

    def probe(self) -> None:
        pass


class TestMemoryStore(BlobStoreSuite):
    def make_store(self) -> BlobStore:
        return MemoryStore()

    def overwrite(self, store: Any, key: str, content: bytes) -> None:
        store.published[key] = content, time.time()


class MemoryFeature:
    """The feature, and what its factory was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bool]] = []
        self.store = MemoryStore()

    def open_store(self, url: str, settings: Any, *, make: bool) -> MemoryStore:
        self.asked.append((url, settings["modhub_memory.room"], make))
        if url.endswith("/refused"):
            raise ValueError("modhub.storage: there is no room.")
        return self.store

    def includeme(self, config: Configurator) -> None:
        config.include("modhub")
        config.add_blob_store("Memory", self.open_store)
        # After the scheme: what the store needs is read by the time it is opened.
        room = Setting("modhub_memory.room", text, "small", "where it is")
        config.add_feature(FEATURE, "Memory", settings=[room])


@pytest.fixture
def feature(monkeypatch: pytest.MonkeyPatch) -> MemoryFeature:
    module, made = ModuleType(FEATURE), MemoryFeature()
    module.includeme = made.includeme  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, FEATURE, module)
    return made


def test_files_are_kept_where_the_scheme_says(feature: MemoryFeature, start: Start) -> None:
    url = "MEMORY://room/1"
    site = start(f"{TEST_ACCOUNTS} {FEATURE}", fresh=True, modhub__storage=url, modhub_memory__room="large")
    assert feature.asked[-1] == (url, "large", True)
    mod = published_mod(site)
    assert [content for content, _ in feature.store.published.values()] == [b"code of " + mod["guid"].encode()]
    assert site.get(mod_address(mod, "download")).body == b"code of " + mod["guid"].encode()
    site.get("/readyz", status=200)
    assert Admin(site.config).store is feature.store


def configured(storage: str, includes: str, tmp_path: Any, *, makes_store: bool = True) -> Configurator:
    settings = {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}
    return modhub.configure(
        {**settings, "modhub.storage": storage, "pyramid.includes": includes}, makes_store=makes_store
    )


def test_a_command_that_only_reads_makes_nothing(feature: MemoryFeature, tmp_path: Any) -> None:
    config = configured("memory://room/1", FEATURE, tmp_path, makes_store=False)
    assert feature.asked == [("memory://room/1", "small", False)]
    find_service(config.registry, Databases).dispose()
    folder = tmp_path / "files"
    find_service(configured(f"file://{folder}", "", tmp_path, makes_store=False).registry, Databases).dispose()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("storage", "includes", "sentence"),
    [
        ("memory://room/1", "", UNSUPPORTED),
        ("memory:room", FEATURE, UNSUPPORTED),
        ("s3://bucket", FEATURE, "modhub.storage: s3:// needs modhub.storage.access_key and .secret_key"),
        ("memory://room/refused", FEATURE, "modhub.storage: there is no room"),
    ],
)
def test_what_cannot_be_opened_stops_the_start(
    feature: MemoryFeature, tmp_path: Any, storage: str, includes: str, sentence: str
) -> None:
    with pytest.raises(StartRefused) as refusal:
        configured(storage, includes, tmp_path)
    assert str(refusal.value) == sentence
