"""Comparing the counts: the total of a mod is the sum of its days, and only mods have counts."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import delete, func, insert, literal, select, union_all
from sqlalchemy.orm import Session

from modhub.db import Databases, bulk
from modhub.plugins.services import IMods
from modhub_downloads.models import DailyDownloads, ModDownloads
from modhub_downloads.services import MODS_AT_ONCE, delete_counts, existing_mods, lock_counts


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
        gone = set(batch) - existing_mods(session, mods, batch)
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
        page = select(ids.c.mod_id).where(ids.c.mod_id > last).order_by(ids.c.mod_id).limit(MODS_AT_ONCE)
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
            existing = existing_mods(session, mods, mod_ids)
            _set_totals(session, sorted(existing))
            delete_counts(session, [mod_id for mod_id in mod_ids if mod_id not in existing])
    return wrong


def _set_totals(session: Session, mod_ids: list[int]) -> None:
    sums = select(DailyDownloads.mod_id, func.sum(DailyDownloads.downloads)).group_by(DailyDownloads.mod_id)
    rows = session.execute(sums.where(DailyDownloads.mod_id.in_(mod_ids))).all()
    bulk.execute_bulk(session, delete(ModDownloads).where(ModDownloads.mod_id.in_(mod_ids)))
    if rows:
        session.execute(insert(ModDownloads), [{"mod_id": row[0], "downloads": int(row[1])} for row in rows])
