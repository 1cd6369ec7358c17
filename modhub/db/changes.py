"""The serial of what everybody can see, and the latest change of each thing.

Every transaction that changes public content raises the serial in `Generation`. It takes that row's lock as its last
act before the commit, so serials become visible in the order of the commits: a reader of serial 7 sees everything up
to 7, on both databases. A cache of public answers is valid as long as :meth:`ChangeReader.generation` is the same.

The public copies of mods report their changes themselves. A feature declares a kind of its own with
``config.add_feature`` and calls :func:`mark_changed`.
"""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Index, String, bindparam, delete, insert, or_, select, true, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.content.limits import CHANGE_KIND
from modhub.db import Base, Id, Timestamp, bulk, from_micros, now
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.db.unit_of_work import PendingChange, unit_of_work

MOD: Final = "mod"
"""The kind of the changes of mods."""
MAX_SERIAL: Final = 2**63 - 1
_ONE: Final = 1


class What(StrEnum):
    """What happened. Hiding is ``DELETED``, restoring ``PUBLISHED``."""

    PUBLISHED = "published"
    EDITED = "edited"
    FILE = "file"
    DELETED = "deleted"


class Generation(Base):
    """One row: the serial of the last change, and the random id of the sequence of serials."""

    __tablename__ = "core_generation"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    serial: Mapped[int] = mapped_column(BigInteger)
    feed: Mapped[str] = mapped_column(String(32))
    timeline: Mapped[str] = mapped_column(String(40), server_default="")
    """PostgreSQL's timeline that the feed belongs to (`modhub.admin.timelines`); empty while it is not known yet."""


class PublicChange(Base):
    """The latest change of a mod, or of all things of another kind; the previous row is replaced.

    ``key`` is the GUID of a mod, and empty for other kinds. A deleted mod keeps its row, without ``mod_id``.
    """

    __tablename__ = "core_change"
    __table_args__ = (Index("ix_core_change_key_kind", "key", "kind", unique=True),)

    serial: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(CHANGE_KIND))
    key: Mapped[str] = mapped_column(String(36))
    mod_id: Mapped[int | None] = mapped_column(Id)
    what: Mapped[str] = mapped_column(String(9))
    at: Mapped[datetime] = mapped_column(Timestamp)


def mark_changed(session: Session, kind: str, what: What) -> None:
    """Record that something of ``kind`` has changed; the serial is raised when ``session`` commits.

    Of several marks in one transaction the last counts.
    """
    unit_of_work(session).pending.changes[kind, ""] = PendingChange(None, what.value, None)


def mark_mod_changed(
    session: Session, guid: str, mod_id: int | None, what: What, *, after: datetime | None = None
) -> None:
    """As :func:`mark_changed`, for a mod; the recorded time is not earlier than ``after``."""
    change = PendingChange(None if what is What.DELETED else mod_id, what.value, after)
    unit_of_work(session).pending.changes[MOD, guid] = change


def raise_serial(session: Session, by: int = 1) -> int:
    """Raise the serial and return it; the row stays locked until the transaction ends.

    Call it yourself only to invalidate kept answers without a change of anything.
    """
    statement = update(Generation).where(Generation.id == _ONE).values(serial=Generation.serial + by)
    raised = statement.returning(Generation.serial).execution_options(synchronize_session=False)
    serial: int = session.scalars(raised).one()
    return serial


def start_new_feed(session: Session, timeline: str | None = None) -> str:
    """Give the sequence of serials a new random id and return it; to be called when the database was set back.

    Clients that know serials of the lost future then begin again, and caches are emptied. ``timeline`` is the one that
    it belongs to, if that changes.
    """
    feed = secrets.token_hex(16)
    values = {"feed": feed} if timeline is None else {"feed": feed, "timeline": timeline}
    bulk.execute_bulk(session, update(Generation).where(Generation.id == _ONE).values(values))
    return feed


def write_changes(session: Session) -> None:
    """Write the pending changes. The last step before the commit: the row of the serial stays locked until then."""
    pending = unit_of_work(session).pending.changes
    if not pending:
        return
    first = raise_serial(session, len(pending)) - len(pending) + 1
    time = now()
    rows = [
        {
            "serial": serial,
            "kind": kind,
            "key": key,
            "mod_id": change.mod_id,
            "what": change.what,
            "at": max(time, change.after or time),
        }
        for serial, ((kind, key), change) in enumerate(pending.items(), first)
    ]
    for batch in bulk.batches(rows):
        replaced = delete(PublicChange).where(PublicChange.key.in_({row["key"] for row in batch}))
        bulk.execute_bulk(session, replaced.where(PublicChange.kind.in_({row["kind"] for row in batch})))
        session.execute(insert(PublicChange), batch)


class ChangeEntry(NamedTuple):
    """A change, as it is read."""

    serial: int
    kind: str
    key: str
    mod_id: int | None
    what: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes after a serial, the head of the sequence, and its id; all of one moment."""

    head: int
    feed: str
    changes: list[ChangeEntry]


class ChangeReader:
    """Reads serials and changes; one per application. ``kinds`` are those that have been declared."""

    def __init__(self, reader: RawQueryExecutor, kinds: Collection[str]) -> None:
        self._reader = reader
        self._kinds = kinds
        self._generation = PreparedQuery(select(Generation.serial, Generation.feed))

    def generation(self) -> tuple[int, str]:
        """Return (serial, feed): equal as long as everybody sees the same. One short statement.

        Votes and the names of accounts do not count: they are not part of the public copies.
        """
        serial, feed = self._reader.rows(self._generation)[0]
        return serial, feed

    @cached_property
    def _page(self) -> Any:
        # Not IN: its list would be expanded at each execution.
        declared = or_(*(PublicChange.kind == kind for kind in sorted(self._kinds)))
        page = select(PublicChange).where(PublicChange.serial > bindparam("since"), declared)
        entries = page.order_by(PublicChange.serial).limit(bindparam("size")).subquery()
        joined = select(Generation.serial, Generation.feed, *entries.c).outerjoin_from(Generation, entries, true())
        return PreparedQuery(joined.order_by(entries.c.serial))

    def page(self, since: int, size: int) -> ChangePage:
        """Return up to ``size`` changes of declared kinds after the serial ``since``, in one statement."""
        rows = self._reader.rows(self._page, since=since, size=size)
        change_rows = [row[2:] for row in rows if row[2] is not None]
        changes = [ChangeEntry(*row[:5], from_micros(row[5])) for row in change_rows]  # type: ignore[call-arg]
        return ChangePage(rows[0][0], rows[0][1], changes)
