"""How long the operations of the file store take, and how many fail: for metrics."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any, Final, NamedTuple

from modhub.blobs.store import BlobStore, RemoteFile
from modhub.errors import ApiError

OPERATIONS: Final = ("stage", "publish", "discard", "put", "open", "verify", "delete", "probe")
FETCH: Final = "fetch"
"""Reading a part of a file from a store that is not on this machine."""
SERVER_ERRORS: Final = 500


class OperationTimes(NamedTuple):
    """What the calls of one operation took together."""

    calls: int = 0
    seconds: float = 0.0
    errors: int = 0


class StoreTimes:
    """Measures the calls to one store. A file that is too large is an error of its sender, not of the store."""

    def __init__(self, store: BlobStore) -> None:
        self._times = dict.fromkeys((*OPERATIONS, FETCH), OperationTimes())
        self._lock = Lock()
        for name in OPERATIONS:
            setattr(store, name, self._measured(store, name))

    def times(self) -> dict[str, OperationTimes]:
        """The sums by operation."""
        with self._lock:
            return dict(self._times)

    def _measured(self, store: BlobStore, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            with self._measuring(name):
                result = getattr(type(store), name)(store, *arguments, **named)
            if name == "open" and isinstance(result, RemoteFile):
                result.fetch = self._measured_fetch(result.fetch)  # type: ignore[method-assign]
            return result

        return call

    def _measured_fetch(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        def call(start: int, stop: int) -> Any:
            with self._measuring(FETCH):
                return fetch(start, stop)

        return call

    @contextmanager
    def _measuring(self, name: str) -> Iterator[None]:
        started_at, failed = perf_counter(), 0
        try:
            yield
        except Exception as error:
            failed = int(not isinstance(error, ApiError) or error.status >= SERVER_ERRORS)
            raise
        finally:
            seconds = perf_counter() - started_at
            with self._lock:
                times = self._times[name]
                self._times[name] = OperationTimes(times.calls + 1, times.seconds + seconds, times.errors + failed)
