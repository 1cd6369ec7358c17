"""Writing counts. Every writer takes the one row of :class:`CountingState` first, so that no two wait for each other.

A writer waits for one batch at most, or for the deletion of some mods.
"""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple

from prometheus_client import Counter as Metric
from sqlalchemy import ColumnElement, delete, insert, select, text
from sqlalchemy.orm import InstrumentedAttribute, Session

from modhub.db import bulk
from modhub.plugins.events import ModsDeleted
from modhub.plugins.services import IMods
from modhub_downloads.models import CountingState, DailyDownloads, DaySalt, ModDownloads, PopularMod, SeenDownload

LOST: Final = Metric("modhub_downloads_lost", "Downloads that were not counted, because too many waited.")


class CountedDownload(NamedTuple):
    """A download by one caller. The address leaves the memory as part of a salted hash only."""

    day: int
    caller: str
    mod_id: int
    version: str


def downloads_of_mods(session: Session, mod_ids: Collection[int]) -> dict[int, int]:
    """How often each of these mods was downloaded."""
    counts = select(ModDownloads.mod_id, ModDownloads.downloads).where(ModDownloads.mod_id.in_(mod_ids))
    return dict.fromkeys(mod_ids, 0) | {row.mod_id: row.downloads for row in session.execute(counts)}


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


SALT_BYTES: Final = 32
DIGEST_BYTES: Final = 16
OLD_HASHES_AT_ONCE: Final = 5000
"""Hashes deleted in one transaction."""
_CREATE_STATE: Final = text(
    "INSERT INTO downloads_state (id, closed_day, finished_day) VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING"
)
_ADD_TO_DAY: Final = text(
    "INSERT INTO downloads_day (mod_id, version, day, downloads) VALUES (:mod_id, :version, :day, :downloads)"
    " ON CONFLICT (mod_id, version, day) DO UPDATE SET downloads = downloads_day.downloads + excluded.downloads"
)
_ADD_TO_MOD: Final = text(
    "INSERT INTO downloads_mod (mod_id, downloads) VALUES (:mod_id, :downloads)"
    " ON CONFLICT (mod_id) DO UPDATE SET downloads = downloads_mod.downloads + excluded.downloads"
)


def lock_counts(session: Session) -> CountingState:
    """Lock the counts until the transaction ends; the first caller ever creates the row."""
    session.execute(_CREATE_STATE)
    return session.scalars(select(CountingState).with_for_update()).one()


def write_downloads(session: Session, mods: IMods, downloads: Collection[CountedDownload], today: int) -> None:
    """Add those that were not counted before to the counts.

    Writing the same downloads a second time adds nothing, so a failed write may be repeated.
    """
    closed_day = lock_counts(session).closed_day
    existing = mods.get_mods(session, {download.mod_id for download in downloads})
    salts: dict[int, bytes] = {}
    by_hash: dict[tuple[int, bytes], CountedDownload] = {}
    for download in sorted(downloads):
        if download.mod_id in existing:
            # A day that is over has no salt any more: what arrives that late counts for today.
            day = download.day if closed_day < download.day <= today else today
            if day not in salts:
                salts[day] = _salt_of(session, day)
            by_hash[day, _digest(salts[day], download)] = download
    new = _not_seen(session, by_hash)
    if new:
        session.execute(insert(SeenDownload), [{"day": day, "digest": digest} for day, digest in new])
        _add_counts(session, Counter((by_hash[key].mod_id, by_hash[key].version, key[0]) for key in new))


def _salt_of(session: Session, day: int) -> bytes:
    """The salt of a day, drawn if this is its first download. The lock keeps others from drawing another one."""
    salt = session.scalar(select(DaySalt.salt).where(DaySalt.day == day))
    if salt is None:
        salt = secrets.token_bytes(SALT_BYTES)
        session.execute(insert(DaySalt), {"day": day, "salt": salt})
    return salt


def _digest(salt: bytes, download: CountedDownload) -> bytes:
    """Nothing in it leads from one mod of a caller to another one."""
    subject = f"{download.caller}\n{download.mod_id}\n{download.version}"
    return hmac.digest(salt, subject.encode(), hashlib.sha256)[:DIGEST_BYTES]


def _not_seen(session: Session, keys: Collection[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    seen: set[tuple[int, bytes]] = set()
    for day in {day for day, _ in keys}:
        digests = [digest for of_day, digest in keys if of_day == day]
        rows = session.scalars(
            select(SeenDownload.digest).where(SeenDownload.day == day, SeenDownload.digest.in_(digests))
        )
        seen.update((day, digest) for digest in rows)
    return sorted(set(keys) - seen)


def _add_counts(session: Session, counts: Counter[tuple[int, str, int]]) -> None:
    days = [
        {"mod_id": mod_id, "version": version, "day": day, "downloads": number}
        for (mod_id, version, day), number in sorted(counts.items())
    ]
    session.execute(_ADD_TO_DAY, days)
    totals: Counter[int] = Counter()
    for (mod_id, _, _), number in counts.items():
        totals[mod_id] += number
    session.execute(_ADD_TO_MOD, [{"mod_id": mod_id, "downloads": number} for mod_id, number in sorted(totals.items())])


def delete_counts(session: Session, mod_ids: Sequence[int]) -> None:
    """Delete the counts of mods. With the lock, no other process adds to them before the mods are gone."""
    lock_counts(session)
    for table in (DailyDownloads, ModDownloads, PopularMod):
        bulk.execute_bulk(session, delete(table).where(table.mod_id.in_(mod_ids)))


def close_days(session: Session, closed_day: int, today: int) -> None:
    """End all days up to ``closed_day``: delete their salts, which makes their hashes worthless.

    Also those of a clock that ran ahead.
    """
    state = lock_counts(session)
    state.closed_day = max(state.closed_day, closed_day)
    session.flush()
    bulk.execute_bulk(session, delete(DaySalt).where(_is_over(DaySalt.day, state.closed_day, today)))


def delete_hashes(session: Session, closed_day: int, today: int) -> int:
    """Delete some hashes of days that are over, and return their number."""
    some = select(SeenDownload.digest).where(_is_over(SeenDownload.day, closed_day, today)).limit(OLD_HASHES_AT_ONCE)
    old = delete(SeenDownload).where(_is_over(SeenDownload.day, closed_day, today), SeenDownload.digest.in_(some))
    return bulk.execute_bulk(session, old)


def _is_over(day: InstrumentedAttribute[int], closed_day: int, today: int) -> ColumnElement[bool]:
    return (day <= closed_day) | (day > today + 1)


def delete_counts_of_mods(event: ModsDeleted) -> None:
    """Delete the counts in the transaction of the mods."""
    delete_counts(event.session, event.mod_ids)
