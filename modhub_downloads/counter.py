"""What a process has counted and not written yet. A download waits here for a lock of a few microseconds, no more."""

from collections.abc import Collection
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple

from prometheus_client import Counter

LOST: Final = Counter("modhub_downloads_lost", "Downloads that were not counted, because too many waited.")


class CountedDownload(NamedTuple):
    """A download by one caller. The address leaves the memory as part of a salted hash only."""

    day: int
    caller: str
    mod_id: int
    version: str


WAITING_MOST: Final = 20_000


class DownloadCounter:
    """Collects the downloads of one process, each once; at most `WAITING_MOST`, so that memory is bounded."""

    def __init__(self) -> None:
        self._waiting: dict[CountedDownload, None] = {}
        self._lock = Lock()

    def add(self, download: CountedDownload) -> None:
        """Count a download unless it waits already."""
        with self._lock:
            if len(self._waiting) < WAITING_MOST:
                self._waiting[download] = None
            elif download not in self._waiting:
                LOST.inc()

    def first(self, size: int) -> list[CountedDownload]:
        """The ``size`` that wait longest; they keep waiting until they are removed."""
        with self._lock:
            return list(islice(self._waiting, size))

    def remove(self, downloads: Collection[CountedDownload]) -> None:
        """Forget these: they are in the database."""
        with self._lock:
            for download in downloads:
                self._waiting.pop(download, None)

    def __len__(self) -> int:
        return len(self._waiting)
