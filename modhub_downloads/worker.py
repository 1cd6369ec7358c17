"""The threads that write counts: one in each process that serves. One of them closes the days at night."""

import logging
from datetime import timedelta
from typing import Final

from sqlalchemy import update

from modhub import bulk
from modhub.db import Databases, now
from modhub.interfaces import IMods
from modhub.worker_threads import WorkerThread
from modhub_downloads.counter import DownloadCounter
from modhub_downloads.days import day_of, last_closed_day
from modhub_downloads.models import CountingState
from modhub_downloads.reconciliation import reconcile
from modhub_downloads.services import claim_night, close_days, delete_hashes, write_downloads

log = logging.getLogger(__name__)
NIGHT_SECONDS: Final = 60.0
"""How often a process looks whether a day is over."""
NIGHT_LEASE: Final = timedelta(minutes=30)
"""After this a process in its nightly run counts as dead."""
LAST_WRITE_SECONDS: Final = 15.0


class DownloadWriter:
    """Writes what the counter has collected, and closes days; for the thread, for commands and for tests."""

    def __init__(self, databases: Databases, mods: IMods, counter: DownloadCounter) -> None:
        self._databases = databases
        self._mods = mods
        self._counter = counter

    def write_all(self) -> None:
        """Write what waits, a batch at a time. What an error leaves unwritten keeps waiting."""
        while batch := self._counter.first(bulk.BATCH):
            with self._databases.write_session.begin() as session:
                written = write_downloads(session, self._mods, batch, day_of(now()))
            self._counter.remove(batch, written)

    def run_night(self) -> bool:
        """Close the days that are over and reconcile the counts, if that is due and no other process is at it."""
        day = last_closed_day()
        with self._databases.readonly_session() as session:
            state = session.get(CountingState, 1)
        if state is not None and state.finished_day >= day:
            return False
        with self._databases.write_session.begin() as session:
            if not claim_night(session, day, NIGHT_LEASE):
                return False
        # First what this process knows of the day.
        self.write_all()
        with self._databases.write_session.begin() as session:
            close_days(session, day, day_of(now()))
        while self._delete_hashes(day):
            pass
        for wrong in reconcile(self._databases, self._mods):
            log.warning("download counts corrected: %s", wrong)
        with self._databases.write_session.begin() as session:
            bulk.execute_bulk(session, update(CountingState).values(finished_day=day, until=now()))
        return True

    def _delete_hashes(self, closed_day: int) -> int:
        with self._databases.write_session.begin() as session:
            return delete_hashes(session, closed_day, day_of(now()))


class DownloadWorker:
    """The thread of a process that serves."""

    def __init__(self, writer: DownloadWriter, counter: DownloadCounter, seconds: float) -> None:
        self._writer = writer
        self._counter = counter
        self._seconds = seconds
        self._fails = False
        self._thread = WorkerThread(
            "modhub downloads",
            self._run,
            cleanup_seconds=NIGHT_SECONDS,
            on_stop=self._write_last,
            stop_seconds=LAST_WRITE_SECONDS,
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start(self._seconds)

    def stop(self) -> None:
        """Write what waits, and end the thread."""
        self._thread.stop()

    def _run(self, _wait: float, *, clean_up: bool) -> float:
        self.run_once(nightly=clean_up)
        return self._seconds

    def _write_last(self) -> None:
        # The thread may be writing the same: nothing counts twice.
        self.run_once(nightly=False)
        if len(self._counter):
            log.warning("downloads that could not be written and are lost: %d", len(self._counter))

    def run_once(self, *, nightly: bool) -> None:
        """Write, and close days if ``nightly``. The first of several errors is logged; a later run does the work."""
        try:
            self._writer.write_all()
            if nightly:
                self._writer.run_night()
        except Exception as error:  # noqa: BLE001 - the thread must survive any error
            if not self._fails:
                log.warning("download counts wait: %s", type(error).__name__)
            self._fails = True
        else:
            self._fails = False
