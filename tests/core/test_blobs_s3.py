"""The parts of the store of ``s3://`` that need no server; the rest is shown on a real one (tests/functional)."""

import hashlib
import io
import os
import sys

import pytest
from obstore.exceptions import PermissionDeniedError

import modhub.blobs
from modhub.base.errors import ApiError
from modhub.base.settings import Secret
from modhub.blobs import storage_from_url
from modhub.blobs.s3 import S3Store, connection, files
from modhub.blobs.s3.connection import FAILURES, REST_SECONDS, Bucket, CircuitBreaker, S3Connection
from modhub.blobs.s3.files import CopySpace
from modhub.blobs.s3.pieces import PIECE_BYTES, UploadPieces
from modhub.blobs.store import StoreTrouble
from modhub_testing.clocks import Clock

NAME = "modhub.blobs.s3.open_s3_store"
KEYS = {"modhub.storage.access_key": Secret("key"), "modhub.storage.secret_key": Secret("hunter2")}
GIVEN = {"modhub.storage.endpoint": "", "modhub.storage.region": "", **KEYS}


def open_store(url, **changed):
    settings = {**GIVEN, **{f"modhub.storage.{name}": value for name, value in changed.items()}}
    return storage_from_url(url, {"s3": NAME}, settings)


@pytest.mark.parametrize(
    ("url", "settings", "endpoint"),
    [
        ("s3://bucket", {}, "https://s3.us-east-1.amazonaws.com"),
        ("S3://bucket/pre/fix/", {"region": "eu-west-3"}, "https://s3.eu-west-3.amazonaws.com"),
        ("s3://bucket/prefix", {"endpoint": "https://S3.example.org:443/"}, "https://s3.example.org"),
    ],
)
def test_an_address_of_a_bucket_opens_without_asking_it(url, settings, endpoint):
    # T-F5: a store that is down stops no start.
    store = open_store(url, **settings)
    assert isinstance(store, S3Store)
    assert store.connection.endpoint() == endpoint


@pytest.mark.parametrize(
    ("url", "settings", "sentence"),
    [
        ("s3://user:hunter2@bucket", {}, "the name of the bucket is missing or wrong"),
        ("s3://bucket/a//b", {}, "the prefix has"),
        ("s3://bucket", {"access_key": ""}, "needs modhub.storage.access_key and .secret_key"),
        ("s3://bucket", {"endpoint": "s3.example.org"}, "modhub.storage.endpoint must be an origin"),
        ("s3://bucket", {"endpoint": "https://user:hunter2@s3.example.org"}, "modhub.storage.endpoint must be"),
    ],
)
def test_what_is_refused_with_a_sentence(url, settings, sentence):
    with pytest.raises(ValueError, match=r"\Amodhub\.storage") as caught:
        open_store(url, **settings)
    assert sentence in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_module_of_a_factory_is_imported_where_its_scheme_is_used(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("modhub.blobs.s3")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(modhub.blobs, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    assert storage_from_url("", {"s3": NAME}, GIVEN) is None
    with pytest.raises(ValueError, match="s3:// needs the Python module obstore, which is not installed"):
        open_store("s3://bucket")


def test_a_breaker_refuses_for_a_while_then_lets_one_try(monkeypatch):
    # T-F5
    clock, breaker = Clock(monkeypatch, connection), CircuitBreaker()
    for _ in range(FAILURES):
        breaker.check()
        breaker.failed()
    with pytest.raises(StoreTrouble):
        breaker.check()
    clock.forward(REST_SECONDS)
    breaker.check()
    with pytest.raises(StoreTrouble):
        breaker.check()
    clock.forward(REST_SECONDS)
    breaker.check()
    breaker.succeeded()
    breaker.check()
    breaker.failed()
    breaker.check()


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1])
def test_only_the_etag_of_these_bytes_proves_them(size):
    content = os.urandom(size)
    pieces = UploadPieces(io.BytesIO(content), size)
    assert b"".join(pieces.all(pieces.read())) == content
    assert (pieces.size, pieces.sha256) == (size, hashlib.sha256(content).hexdigest())
    whole = hashlib.md5(content).hexdigest()
    parts = [content[at : at + PIECE_BYTES] for at in range(0, size, PIECE_BYTES)]
    joined = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts)).hexdigest()
    right = whole if size < PIECE_BYTES else f"{joined}-{len(parts)}"
    assert pieces.proves(f'"{right}"')
    assert not any(pieces.proves(etag) for etag in (None, "", right[:-1], "0" * 32, f"{right}-9"))


class LyingConnection:
    """A store whose ETags say nothing, as where it encrypts, and which keeps what ``kept`` makes of the bytes."""

    def __init__(self, kept):
        self.kept = kept
        self.objects = {}

    def put(self, key, pieces):
        self.objects[key] = self.kept(b"".join(pieces.all(pieces.read())))
        return '"encrypted"'

    def head(self, key):
        if key not in self.objects:
            raise connection.ObjectMissing("it is missing")
        return {"size": len(self.objects[key]), "e_tag": '"encrypted"'}

    def windows(self, key, _etag, start, stop):
        yield self.objects[key][start:stop]

    def delete(self, key):
        self.objects.pop(key, None)


@pytest.mark.parametrize("kept", [lambda content: content[:-1], lambda content: content[:-1] + b"?"])
def test_an_upload_that_no_etag_proves_is_read_back(kept, caplog):
    # T-F5, C-ERR-15
    lying = LyingConnection(kept)
    with pytest.raises(ApiError) as refusal:
        S3Store(lying).stage(io.BytesIO(b"content"), 100)
    assert refusal.value.code == "storage_refused"
    assert lying.objects == {}
    assert "it did not keep what was put" in caplog.text
    true = LyingConnection(bytes)
    assert S3Store(true).stage(io.BytesIO(b"content"), 100).size == 7


def test_copies_for_readers_are_bounded_together(monkeypatch):
    monkeypatch.setattr(files, "COPIES_BYTES", 100)
    space = CopySpace()
    first, second = space.new_file(60), space.new_file(40)
    with pytest.raises(StoreTrouble, match="too many bytes"):
        space.new_file(1)
    first.close()
    del first
    third = space.new_file(60)
    assert type(third) is io.FileIO
    second.close()
    third.close()


def test_a_store_that_refuses_the_clock_says_so():
    # T-F5, T-F7
    """As SeaweedFS answers a signature of two hours ago."""
    skewed = "Client error with status 403 Forbidden: <Error><Code>RequestTimeTooSkewed</Code></Error>"
    for text, expected in ((skewed, "it refuses this machine's clock"), ("403 Forbidden", "it refuses the key")):
        trouble, responded = connection._trouble(PermissionDeniedError(text))
        assert (str(trouble), responded) == (expected, True)


def test_the_endpoint_follows_what_is_reported():
    # C-ADDR-5
    made = S3Connection(Bucket("bucket", "", "https://ini.example.org", "here", "key", "hunter2"))
    reported = [None]

    def report():
        if isinstance(reported[0], Exception):
            raise reported[0]
        return reported[0]

    made.follow(report)
    assert made.endpoint() == "https://ini.example.org"
    reported[0] = "https://new.example.org"
    assert made.endpoint() == "https://new.example.org"
    reported[0] = OSError("the database is down")
    assert made.endpoint() == "https://new.example.org"
    assert "hunter2" not in repr(Bucket("bucket", "", "", "", "key", "hunter2"))


def test_a_store_that_is_too_slow_for_an_answer_is_given_up(monkeypatch):
    # T-F5, C-ERR-16
    slow = LyingConnection(bytes)
    store = S3Store(slow)
    blob = store.stage(io.BytesIO(b"content"), 100)
    store.publish(blob.key)
    monkeypatch.setattr(files, "FETCH_SECONDS", -1)
    with pytest.raises(ApiError) as refusal:
        store.open(blob.key, blob.size, blob.sha256).read()
    assert refusal.value.code == "storage_unreachable"


def test_a_temporary_folder_that_cannot_be_used_is_the_stores_trouble(monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "COPIES_BYTES", 10)
    space = CopySpace()
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    for _ in range(2):
        with pytest.raises(StoreTrouble, match="No space left"):
            space.new_file(10)
