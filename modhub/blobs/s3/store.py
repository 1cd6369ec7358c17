"""A :class:`~modhub.blobs.store.BlobStore` in a bucket: one object for each file, ``prefix/key``."""

import hashlib
import io
import logging
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, NoReturn

from modhub.base.errors import storage_refused, storage_unreachable
from modhub.base.repeated_lines import log_alarm, log_sometimes
from modhub.blobs.checksum_cache import ChecksumCache
from modhub.blobs.s3.connection import ObjectChanged, ObjectMissing, S3Connection
from modhub.blobs.s3.files import CopySpace, ObjectFile, alarm
from modhub.blobs.s3.pieces import UploadPieces
from modhub.blobs.store import Blob, Readable, StoreTrouble, is_key, new_key

log = logging.getLogger(__name__)


class S3Store:
    """Files in an object store.

    An upload gets its final name at once: only the transaction that stages it knows the random key, and this process
    opens nothing that it has staged and not published. Publishing checks that the object is still there.
    """

    def __init__(self, connection: S3Connection) -> None:
        self.connection = connection
        self._staged: dict[str, tuple[int, str | None]] = {}
        self._checksums = ChecksumCache()
        self._space = CopySpace()

    def follow_address(self, reported: Callable[[], str | None]) -> None:
        """Take the endpoint from the address that the storage machine reports (C-ADDR-5)."""
        self.connection.follow(reported)

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Upload the stream and check that the store has exactly its bytes."""
        key = new_key()
        pieces = UploadPieces(stream, limit)
        try:
            etag = self.connection.put(key, pieces)
            blob = Blob(key, pieces.size, pieces.sha256)
            self._prove(blob, etag, proved=pieces.proves(etag))
        except StoreTrouble as trouble:
            # Only the response may be lost: then the object is there.
            self.discard(key)
            _refuse(trouble)
        self._staged[key] = blob.size, etag
        return blob

    def publish(self, key: str) -> None:
        """Check that the object is still there, unchanged."""
        staged = self._staged.get(_checked_key(key))
        try:
            stored = self.connection.head(key)
            if (stored["size"], stored["e_tag"]) != staged:
                raise StoreTrouble("it is not what was put")
        except StoreTrouble as trouble:
            _refuse(trouble)
        self._staged.pop(key, None)

    def discard(self, key: str) -> None:
        """Delete what an undone upload made."""
        try:
            self._remove(key)
        except StoreTrouble as trouble:
            log_sometimes(log, logging.WARNING, "an undone upload could not be removed (%s); a sweep takes it", trouble)

    def put(self, blob: Blob, stream: Readable) -> None:
        """Upload the stream, then compare both its hash and what the store has."""
        pieces = UploadPieces(stream, sys.maxsize)
        try:
            etag = self.connection.put(_checked_key(blob.key), pieces)
            if Blob(blob.key, pieces.size, pieces.sha256) != blob:
                raise StoreTrouble("a copy of a stored file is not what was stored")
            self._prove(blob, etag, proved=pieces.proves(etag))
        except StoreTrouble as trouble:
            self.discard(blob.key)
            _refuse(trouble)

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """Open the published object after making sure of its content; its bytes are fetched when they are wanted."""
        try:
            etag = self._find(key, size)
            file = ObjectFile(self.connection, self._space, Blob(key, size, sha256), etag)
            if etag is None or not self._checksums.contains(key, sha256, etag):
                file.fetch_whole()
                self._checksums.add(key, sha256, etag)
        except StoreTrouble as trouble:
            raise alarm(key, trouble) from None
        return file  # type: ignore[return-value] # a raw file, as open(..., buffering=0) gives

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Read the object and compare, whatever was found earlier."""
        try:
            digest = hashlib.sha256()
            for window in self.connection.windows(key, self._find(key, size), 0, size):
                digest.update(window)
        except StoreTrouble as trouble:
            return trouble.sentence
        return None if digest.hexdigest() == sha256 else "Its content is not what was stored: the SHA-256 differs."

    def delete(self, key: str) -> None:
        """Delete the object."""
        try:
            self._remove(key)
        except StoreTrouble as trouble:
            _unreachable(trouble)

    def keys(self) -> Iterator[tuple[str, float]]:
        """List the prefix; anything else lying there is not ours."""
        try:
            for listed in self.connection.objects():
                if is_key(listed["path"]):
                    yield listed["path"], listed["last_modified"].timestamp()
        except StoreTrouble as trouble:
            _unreachable(trouble)

    def probe(self) -> None:
        """Put one byte under a fresh key and delete it; a crash in between leaves it to the sweep."""
        key = new_key()
        try:
            self.connection.put(key, UploadPieces(io.BytesIO(b"?"), 1))
            self.connection.delete(key)
        except StoreTrouble as trouble:
            _unreachable(trouble)

    def _prove(self, blob: Blob, etag: str | None, *, proved: bool) -> None:
        """Read the object back if its ETag does not prove the content, as with encryption."""
        if not proved:
            damage = self.verify(blob.key, blob.size, blob.sha256)
            if damage is not None:
                raise StoreTrouble("it did not keep what was put")
        if etag is not None:
            self._checksums.add(blob.key, blob.sha256, etag)

    def _find(self, key: str, size: int) -> str | None:
        """The ETag of a published object of this size."""
        if _checked_key(key) in self._staged:
            raise ObjectMissing("it is missing")
        stored = self.connection.head(key)
        if stored["size"] != size:
            raise ObjectChanged(f"it has {stored['size']} bytes instead of {size}")
        return stored["e_tag"]

    def _remove(self, key: str) -> None:
        self._staged.pop(_checked_key(key), None)
        self.connection.delete(key)


def _checked_key(key: str) -> str:
    if not is_key(key):
        raise ValueError("not a key of a blob")
    return key


def _refuse(trouble: StoreTrouble) -> NoReturn:
    log_alarm(log, "writing to the file store failed: %s", trouble)
    raise storage_refused() from None


def _unreachable(trouble: StoreTrouble) -> NoReturn:
    log_alarm(log, "the file store is not available: %s", trouble)
    raise storage_unreachable() from None
