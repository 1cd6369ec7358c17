"""Popular this week: by the downloads of the last seven days, then by the votes of that time.

A table with one row a mod, which the order of the list reads by its index: nothing is kept in memory, and what
nobody may see is left out by the list itself. Mods without either have no row and follow, the last changed first.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now
from modhub.plugins.services import IMods
from modhub.plugins.workers import raise_if_stopping
from modhub_downloads.models import DailyDownloads, PopularMod, PopularState, day_of
from modhub_downloads.services import lock_counts

DAYS: Final = 7
"""The day of now (UTC) and those before it."""
POPULAR_PAUSE: Final = timedelta(minutes=10)
"""From one computation to the next, whichever process makes it."""
POPULAR_LOOK_SECONDS: Final = 60.0
"""How often a process looks whether one is due."""
_VOTES_MOST: Final = 499_999
_DOWNLOAD: Final = 1_000_000
"""One download weighs more than any number of votes: twice ``_VOTES_MOST``, and 0 in the middle."""


def weight_of(downloads: int, votes: int) -> int:
    """What the order compares: downloads, then votes."""
    return downloads * _DOWNLOAD + _DOWNLOAD // 2 + max(-_VOTES_MOST, min(votes, _VOTES_MOST))


def find_weights(session: Session, mods: IMods) -> dict[int, int]:
    """The weights of all mods that were downloaded, or voted for more than against, in the last days."""
    moment = now()
    recent = select(DailyDownloads.mod_id, func.sum(DailyDownloads.downloads)).group_by(DailyDownloads.mod_id)
    rows = session.execute(recent.where(DailyDownloads.day > day_of(moment) - DAYS))
    downloads = {mod_id: int(number) for mod_id, number in rows}
    votes = mods.get_votes_since(session, moment - timedelta(days=DAYS))
    mod_ids = downloads.keys() | {mod_id for mod_id, number in votes.items() if number > 0}
    return {mod_id: weight_of(downloads.get(mod_id, 0), votes.get(mod_id, 0)) for mod_id in mod_ids}


def update_popular(registry: Any) -> bool:
    """The worker's round: write what has changed, unless another process has done so in the last ten minutes."""
    databases = find_service(registry, Databases)
    with databases.readonly_session() as session:
        last = session.scalar(select(PopularState.computed_at))
        if last is not None and timedelta() <= now() - last < POPULAR_PAUSE:
            return False
        weights = find_weights(session, find_service(registry, IMods))
        known = {row.mod_id: row.weight for row in session.execute(select(PopularMod.mod_id, PopularMod.weight))}
    changed = sorted(mod_id for mod_id in weights.keys() | known.keys() if weights.get(mod_id) != known.get(mod_id))
    for batch in bulk.batches(changed):
        raise_if_stopping(registry)
        with databases.write_session.begin() as session:
            lock_counts(session)
            _write(session, batch, weights)
    with databases.write_session.begin() as session:
        lock_counts(session)
        bulk.execute_bulk(session, delete(PopularState))
        session.add(PopularState(id=1, computed_at=now()))
    return True


def _write(session: Session, mod_ids: list[int], weights: Mapping[int, int]) -> None:
    bulk.execute_bulk(session, delete(PopularMod).where(PopularMod.mod_id.in_(mod_ids)))
    rows = [{"mod_id": mod_id, "weight": weights[mod_id]} for mod_id in mod_ids if mod_id in weights]
    if rows:
        session.execute(insert(PopularMod), rows)
