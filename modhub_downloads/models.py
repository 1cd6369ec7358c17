"""The tables. Days are numbers: whole days since 1 January 1970, UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.content.limits import VERSION
from modhub.db import Base, Id, Timestamp, now

_FIRST: Final = date(1970, 1, 1)
CLOSING_TIME: Final = timedelta(minutes=5)
"""How long after midnight downloads of the day before are still written as those of that day."""


def day_of(moment: datetime) -> int:
    """The day of an aware time."""
    return (moment.astimezone(UTC).date() - _FIRST).days


def date_of(day: int) -> date:
    """The date of a day."""
    return _FIRST + timedelta(days=day)


def last_closed_day() -> int:
    """The newest day that is over."""
    return day_of(now() - CLOSING_TIME) - 1


class CountingState(Base):
    """One row: the lock that every writer of counts takes, and the state of the nightly run.

    Days up to ``closed_day`` are over and have no salt. ``finished_day``: the same after the whole nightly run.
    """

    __tablename__ = "downloads_state"
    __table_args__ = {"info": {"in_backup": False}}

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    closed_day: Mapped[int] = mapped_column(Integer)
    finished_day: Mapped[int] = mapped_column(Integer)


class DaySalt(Base):
    """The salt of one day; deleted when the day is over."""

    __tablename__ = "downloads_salt"
    __table_args__ = {"info": {"in_backup": False}}

    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    salt: Mapped[bytes]


class SeenDownload(Base):
    """The salted hash of a caller and a version of a mod that was counted on this day; deleted with its salt."""

    __tablename__ = "downloads_seen"
    __table_args__ = {"info": {"in_backup": False}}

    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[bytes] = mapped_column(primary_key=True)


class DailyDownloads(Base):
    """The downloads of one version of a mod on one day."""

    __tablename__ = "downloads_day"
    __table_args__ = (Index("ix_downloads_day_day", "day", "mod_id"),)

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    version: Mapped[str] = mapped_column(String(VERSION), primary_key=True)
    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    downloads: Mapped[int] = mapped_column(BigInteger)


class ModDownloads(Base):
    """All downloads of a mod: the sum of its days, for the order of the list."""

    __tablename__ = "downloads_mod"
    __table_args__ = (Index("ix_downloads_mod_most", "downloads", "mod_id"),)

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    downloads: Mapped[int] = mapped_column(BigInteger)


class PopularMod(Base):
    """A mod that was downloaded or voted for in the last days; computed again and again, so in no backup."""

    __tablename__ = "downloads_popular"
    __table_args__ = (Index("ix_downloads_popular_most", "weight", "mod_id"), {"info": {"in_backup": False}})

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    weight: Mapped[int] = mapped_column(BigInteger)


class PopularState(Base):
    """One row: when :class:`PopularMod` was last computed, by whichever process."""

    __tablename__ = "downloads_popular_state"
    __table_args__ = {"info": {"in_backup": False}}

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    computed_at: Mapped[datetime] = mapped_column(Timestamp)
