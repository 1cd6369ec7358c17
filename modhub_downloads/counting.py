"""Which downloads count, and the work on counts: they are stored each minute, and at night days are closed."""

import logging
from collections.abc import Iterator
from threading import Lock
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, literal, select, union_all, update
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now
from modhub.plugins.events import DownloadStarted
from modhub.plugins.services import IMods
from modhub.plugins.workers import is_stopping
from modhub_downloads.models import (
    CountingState,
    DailyDownloads,
    ModDownloads,
    day_of,
    last_closed_day,
)
from modhub_downloads.services import (
    CountedDownload,
    DownloadCounter,
    close_days,
    delete_counts,
    delete_hashes,
    lock_counts,
    write_downloads,
)


class WrongCount(NamedTuple):
    """A mod whose total differs from the sum of its days, or that does not exist any more."""

    mod_id: int
    total: int
    days: int
    exists: bool = True

    def __str__(self) -> str:
        if not self.exists:
            return f"Mod {self.mod_id} does not exist, but it has {self.days} downloads"
        return f"Mod {self.mod_id} has {self.total} downloads in all, but {self.days} by day"


def find_wrong_counts(session: Session, mods: IMods) -> list[WrongCount]:
    """What is wrong, by mod. Safe while the service runs: each comparison is one statement."""
    totals = select(ModDownloads.mod_id, ModDownloads.downloads.label("total"), literal(0).label("days"))
    days = select(DailyDownloads.mod_id, literal(0), DailyDownloads.downloads)
    both = union_all(totals, days).subquery()
    total, by_days = func.sum(both.c.total), func.sum(both.c.days)
    grouped = select(both.c.mod_id, total, by_days).group_by(both.c.mod_id).having(total != by_days)
    wrong = {row[0]: WrongCount(row[0], int(row[1]), int(row[2])) for row in session.execute(grouped)}
    for gone in _counts_without_mod(session, mods):
        wrong[gone.mod_id] = gone
    return [wrong[mod_id] for mod_id in sorted(wrong)]


def _counts_without_mod(session: Session, mods: IMods) -> Iterator[WrongCount]:
    for batch in _batches_of_mods(session):
        gone = set(batch) - mods.get_mods(session, batch).keys()
        # Read again: a mod that was deleted in the meantime took its counts with it.
        sums = select(DailyDownloads.mod_id, func.sum(DailyDownloads.downloads)).group_by(DailyDownloads.mod_id)
        days = {row[0]: int(row[1]) for row in session.execute(sums.where(DailyDownloads.mod_id.in_(gone)))}
        rows = session.execute(select(ModDownloads).where(ModDownloads.mod_id.in_(gone))).scalars()
        totals = {row.mod_id: row.downloads for row in rows}
        for mod_id in days.keys() | totals.keys():
            yield WrongCount(mod_id, totals.get(mod_id, 0), days.get(mod_id, 0), exists=False)


def _batches_of_mods(session: Session) -> Iterator[list[int]]:
    """The ids of all that have counts, some at a time."""
    ids = select(DailyDownloads.mod_id).union(select(ModDownloads.mod_id)).subquery()
    last = -1
    while True:
        page = select(ids.c.mod_id).where(ids.c.mod_id > last).order_by(ids.c.mod_id).limit(bulk.BATCH)
        batch = list(session.scalars(page))
        if not batch:
            return
        yield batch
        last = batch[-1]


def reconcile(databases: Databases, mods: IMods) -> list[WrongCount]:
    """Correct what is wrong, and return what was: totals become the sums of their days, orphans are deleted."""
    with databases.readonly_session() as session:
        wrong = find_wrong_counts(session, mods)
    for batch in bulk.batches(wrong):
        with databases.write_session.begin() as session:
            lock_counts(session)
            mod_ids = [count.mod_id for count in batch]
            existing = mods.get_mods(session, mod_ids)
            _set_totals(session, sorted(existing))
            delete_counts(session, [mod_id for mod_id in mod_ids if mod_id not in existing])
    return wrong


def _set_totals(session: Session, mod_ids: list[int]) -> None:
    sums = select(DailyDownloads.mod_id, func.sum(DailyDownloads.downloads)).group_by(DailyDownloads.mod_id)
    rows = session.execute(sums.where(DailyDownloads.mod_id.in_(mod_ids))).all()
    bulk.execute_bulk(session, delete(ModDownloads).where(ModDownloads.mod_id.in_(mod_ids)))
    if rows:
        session.execute(insert(ModDownloads), [{"mod_id": row[0], "downloads": int(row[1])} for row in rows])


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
        """Close the days that are over and reconcile the counts, if that is due."""
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
        for wrong in reconcile(self._databases, self._mods):
            log.warning("download counts corrected: %s", wrong)
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
