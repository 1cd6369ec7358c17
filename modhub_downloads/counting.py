"""Which downloads count, and the work on counts: they are stored each minute, and at night days are closed."""

import logging
from threading import Lock
from typing import Any, Final

from sqlalchemy import update

from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now
from modhub.plugins.events import DownloadStarted
from modhub.plugins.services import IMods
from modhub.plugins.workers import is_stopping
from modhub_downloads.models import (
    CountingState,
    day_of,
    last_closed_day,
)
from modhub_downloads.services import (
    CountedDownload,
    DownloadCounter,
    close_days,
    delete_hashes,
    write_downloads,
)

log = logging.getLogger(__name__)
WRITE_SECONDS: Final = 5.0
NIGHT_SECONDS: Final = 60.0
"""How often a process looks whether a day is over."""
SHARE_COUNTED: Final = 10
"""A first range counts from one tenth of the file on."""


class DownloadWriter:
    """Writes what the counter has collected, and closes days; for the thread, for commands and for tests."""

    def __init__(self, databases: Databases, mods: IMods, counter: DownloadCounter) -> None:
        self._databases = databases
        self._mods = mods
        self.counter = counter
        # Both workers of a process write its counts, and what the night closes must not be written again.
        self._writing = Lock()

    def write_all(self) -> None:
        """Write what waits, a batch at a time. What an error leaves unwritten keeps waiting."""
        with self._writing:
            while batch := self.counter.first(bulk.BATCH):
                with self._databases.write_session.begin() as session:
                    write_downloads(session, self._mods, batch, day_of(now()))
                self.counter.remove(batch)

    def run_night(self) -> bool:
        """Close the days that are over, if that is due."""
        day = last_closed_day()
        with self._databases.readonly_session() as session:
            state = session.get(CountingState, 1)
        if state is not None and state.finished_day >= day:
            return False
        # First what this process knows of the day.
        self.write_all()
        with self._databases.write_session.begin() as session:
            close_days(session, day, day_of(now()))
        while self._delete_hashes(day):
            pass
        with self._databases.write_session.begin() as session:
            bulk.execute_bulk(session, update(CountingState).values(finished_day=day))
        return True

    def _delete_hashes(self, closed_day: int) -> int:
        with self._databases.write_session.begin() as session:
            return delete_hashes(session, closed_day, day_of(now()))


def count_download(event: DownloadStarted) -> None:
    """Count what begins at the first byte and is a tenth of the file: not who only looks at its head."""
    if event.first_byte == 0 and event.length * SHARE_COUNTED >= event.size:
        download = CountedDownload(day_of(now()), event.caller, event.mod_id, event.version)
        find_service(event.registry, DownloadWriter).counter.add(download)


def write_counts(registry: Any) -> None:
    """The worker that writes what the process has counted, also at a stop: nothing counts twice."""
    writer = find_service(registry, DownloadWriter)
    try:
        writer.write_all()
    except Exception:
        if is_stopping(registry) and len(writer.counter):
            log.warning("downloads that could not be written and are lost: %d", len(writer.counter))
        raise


def run_night(registry: Any) -> None:
    """The worker that closes the days that are over; one process at a time."""
    find_service(registry, DownloadWriter).run_night()
