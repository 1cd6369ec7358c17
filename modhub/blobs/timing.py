"""A store that measures another one: how long its operations take, and how many fail. For metrics."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any, BinaryIO, Final, NamedTuple, cast

from modhub.base.errors import ApiError
from modhub.blobs.store import Blob, BlobStore, Readable, RemoteFile, ServedByProxy

FETCH: Final = "fetch"
"""Reading a part of a file from a store that is not on this machine."""
OPERATIONS: Final = ("stage", "publish", "discard", "put", "open", "verify", "delete", "probe", FETCH)
SERVER_ERRORS: Final = 500


class OperationTimes(NamedTuple):
    """What the calls of one operation took together."""

    calls: int = 0
    seconds: float = 0.0
    errors: int = 0


class StoreTimes:
    """The sums of all calls. A file that is too large is an error of its sender, not of the store."""

    def __init__(self) -> None:
        self._times = dict.fromkeys(OPERATIONS, OperationTimes())
        self._lock = Lock()

    def times(self) -> dict[str, OperationTimes]:
        """The sums by operation."""
        with self._lock:
            return dict(self._times)

    def add_failure(self, operation: str) -> None:
        """Count a call that failed before it reached the store: the server could not write the file to its disk."""
        with self._lock:
            times = self._times[operation]
            self._times[operation] = times._replace(calls=times.calls + 1, errors=times.errors + 1)

    @contextmanager
    def measure(self, operation: str) -> Iterator[None]:
        """Add what the block takes."""
        started_at, failed = perf_counter(), 0
        try:
            yield
        except Exception as error:
            failed = int(not isinstance(error, ApiError) or error.status >= SERVER_ERRORS)
            raise
        finally:
            seconds = perf_counter() - started_at
            with self._lock:
                times = self._times[operation]
                self._times[operation] = OperationTimes(times.calls + 1, times.seconds + seconds, times.errors + failed)


class MeasuredStore:
    """A :class:`~modhub.blobs.store.BlobStore` that passes each call on to ``store`` and measures it."""

    def __init__(self, store: BlobStore, times: StoreTimes) -> None:
        self.store = store
        self._times = times

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Call the store's ``stage``, counted and timed."""
        with self._times.measure("stage"):
            return self.store.stage(stream, limit)

    def publish(self, key: str) -> None:
        """Call the store's ``publish``, counted and timed."""
        with self._times.measure("publish"):
            self.store.publish(key)

    def discard(self, key: str) -> None:
        """Call the store's ``discard``, counted and timed."""
        with self._times.measure("discard"):
            self.store.discard(key)

    def put(self, blob: Blob, stream: Readable) -> None:
        """Call the store's ``put``, counted and timed."""
        with self._times.measure("put"):
            self.store.put(blob, stream)

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """Measured, and so is what a remote file fetches later."""
        with self._times.measure("open"):
            opened = self.store.open(key, size, sha256)
        if isinstance(opened, RemoteFile):
            return cast("BinaryIO", MeasuredFile(opened, self._times))
        # As it is: the server sends it by the kernel.
        return opened

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Call the store's ``verify``, counted and timed."""
        with self._times.measure("verify"):
            return self.store.verify(key, size, sha256)

    def delete(self, key: str) -> None:
        """Call the store's ``delete``, counted and timed."""
        with self._times.measure("delete"):
            self.store.delete(key)

    def keys(self) -> Iterator[tuple[str, float]]:
        """Not measured: it takes as long as its reader."""
        return self.store.keys()

    def probe(self) -> None:
        """Call the store's ``probe``, counted and timed."""
        with self._times.measure("probe"):
            self.store.probe()

    def internal_address(self, key: str) -> str | None:
        """That of the store, if a proxy may send its files."""
        return self.store.internal_address(key) if isinstance(self.store, ServedByProxy) else None


class MeasuredFile(io.RawIOBase):
    """A :class:`~modhub.blobs.store.RemoteFile` whose calls of ``fetch`` are measured."""

    def __init__(self, file: Any, times: StoreTimes) -> None:
        super().__init__()
        self._file = file
        self._times = times

    def fetch(self, start: int, stop: int) -> BinaryIO:
        """Call the file's ``fetch``, counted and timed."""
        with self._times.measure(FETCH):
            fetched: BinaryIO = self._file.fetch(start, stop)
        return fetched

    def readinto(self, buffer: Any) -> int:
        """Read from the file."""
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the file's position."""
        position: int = self._file.seek(offset, whence)
        return position

    def tell(self) -> int:
        """The file's position."""
        position: int = self._file.tell()
        return position

    def readable(self) -> bool:
        """Return True: the server asks before it reads."""
        return True

    def seekable(self) -> bool:
        """Return True: ranges are sent from the middle of a file."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
