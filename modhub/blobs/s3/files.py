"""A stored object as a file: fetched into a temporary one, so that a slow reader holds neither store nor thread."""

import hashlib
import io
import logging
import tempfile
import weakref
from threading import Lock
from time import monotonic
from typing import BinaryIO, Final

from modhub.base.errors import ApiError, storage_unreachable
from modhub.base.repeated_lines import log_alarm
from modhub.blobs.s3.connection import ObjectChanged, ObjectMissing, S3Connection
from modhub.blobs.store import Blob, SizedFile, StoreTrouble

FETCH_SECONDS: Final = 60.0
"""How long a worker reads from the store for one answer."""
COPIES_BYTES: Final = 2 * 1024**3
"""What all temporary copies of a process hold together, most of them for slow readers."""

log = logging.getLogger(__name__)


class CopySpace:
    """The bytes of the temporary copies that are open just now."""

    def __init__(self) -> None:
        self._held = 0
        self._lock = Lock()

    def new_file(self, size: int) -> io.FileIO:
        """An empty file without a name, counted until it is gone; :class:`StoreTrouble` when there is no room."""
        with self._lock:
            if self._held + size > COPIES_BYTES:
                raise StoreTrouble("too many bytes are being given out just now")
            self._held += size
        try:
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - its reader closes it
        except OSError as error:
            self._give_back(size)
            raise StoreTrouble(f"the temporary folder cannot be used: {error.strerror}") from None
        # The server sends by the kernel what is exactly a FileIO: a class of our own that counts on close is not.
        weakref.finalize(file, self._give_back, size)
        return file

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._held -= size


class ObjectFile(SizedFile):
    """An object that was found, with its ``etag``; ``fetch`` gives a part of it as a file of this machine.

    Reading it directly fetches all of it first, so that it stays whole when the object is deleted in the meantime.
    """

    def __init__(self, connection: S3Connection, space: CopySpace, blob: Blob, etag: str | None) -> None:
        super().__init__(blob.size)
        self._key = blob.key
        self._connection = connection
        self._space = space
        self._sha256 = blob.sha256
        self._etag = etag
        self._whole: io.FileIO | None = None

    def fetch(self, start: int, stop: int) -> BinaryIO:
        """A file that stands at byte ``start`` and goes on to ``stop`` at least; the caller closes it, and this one.

        Of a whole object the SHA-256 is checked; of a part, that the object is the one that was checked before.
        """
        try:
            if self._whole is None and (start, stop) != (0, self._size):
                return self._copy(start, stop)
            whole, self._whole = self.fetch_whole(), None
        except StoreTrouble as trouble:
            raise alarm(self._key, trouble) from None
        whole.seek(start)
        return whole

    def fetch_whole(self) -> io.FileIO:
        """All of it, checked; :class:`StoreTrouble` when it is not what was stored."""
        if self._whole is None:
            self._whole = self._copy(0, self._size)
        return self._whole

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read from the whole."""
        try:
            whole = self.fetch_whole()
        except StoreTrouble as trouble:
            raise alarm(self._key, trouble) from None
        whole.seek(self._position)
        count = whole.readinto(buffer) or 0
        self._position += count
        return count

    def close(self) -> None:
        """Let go of the copy, if there is one."""
        if self._whole is not None:
            self._whole.close()
        super().close()

    def _copy(self, start: int, stop: int) -> io.FileIO:
        file = self._space.new_file(stop - start)
        try:
            digest = hashlib.sha256()
            deadline = monotonic() + FETCH_SECONDS
            for window in self._connection.windows(self._key, self._etag, start, stop):
                digest.update(window)
                _write(file, window)
                if monotonic() > deadline:
                    raise StoreTrouble("it is too slow")
            if stop - start == self._size and digest.hexdigest() != self._sha256:
                raise ObjectChanged("its content is not what was stored: the SHA-256 differs")
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file


def _write(file: io.FileIO, window: bytes) -> None:
    rest = memoryview(window)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise StoreTrouble(f"the temporary folder cannot be used: {error.strerror}") from None


def alarm(key: str, trouble: StoreTrouble) -> ApiError:
    """The 503 for a stored file that cannot be given out. The log has the file, or the store if that is away."""
    if not isinstance(trouble, ObjectMissing | ObjectChanged):
        log_alarm(log, "the file store is not available: %s", trouble)
        return storage_unreachable()
    log_alarm(log, "stored file %s cannot be read. %s", key, trouble.sentence)
    return storage_unreachable()
