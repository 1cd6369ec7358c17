"""Holds: while a backup or a restore copies files, ``sweep`` removes none of them, however long that takes."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Event, Thread
from typing import Final

from sqlalchemy import String, delete, func, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.db import Base, Databases, Id, Timestamp, bulk, now
from modhub.db.database_errors import driver_reason

log = logging.getLogger(__name__)
RENEW_SECONDS: Final = 30.0
HOLD_TIME: Final = timedelta(minutes=15)
"""A hold that has not been renewed for this long belongs to a process that was killed, and no longer counts."""


class HoldPurpose(StrEnum):
    """What the files are held for."""

    BACKUP = "backup"
    RESTORE = "restore"


class FileHold(Base):
    """A running backup or restore. It is state of a process, so no backup contains it."""

    __tablename__ = "core_file_hold"
    __table_args__ = {"sqlite_autoincrement": True, "info": {"in_backup": False}}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    purpose: Mapped[str] = mapped_column(String(20))
    started_at: Mapped[datetime] = mapped_column(Timestamp)
    renewed_at: Mapped[datetime] = mapped_column(Timestamp)


def held_since(session: Session, purpose: HoldPurpose) -> datetime | None:
    """When the earliest running backup or restore began; None if there is none."""
    alive = FileHold.renewed_at > now() - HOLD_TIME
    return session.scalar(select(func.min(FileHold.started_at)).where(FileHold.purpose == purpose.value, alive))


@contextmanager
def hold_files(databases: Databases, purpose: HoldPurpose) -> Iterator[None]:
    """Hold the files until the end of the block. The hold is committed first, so that every sweep sees it."""
    time = now()
    with databases.write_session.begin() as session:
        hold = FileHold(purpose=purpose.value, started_at=time, renewed_at=time)
        session.add(hold)
        session.flush()
        hold_id = hold.id
    finished = Event()
    renewing = Thread(target=_renew, args=(databases, hold_id, finished), name="modhub hold", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        finished.set()
        renewing.join()
        try:
            with databases.write_session.begin() as session:
                bulk.execute_bulk(session, delete(FileHold).where(FileHold.id == hold_id))
        except SQLAlchemyError as error:
            reason = driver_reason(error, databases.write_engine.url)
            log.warning("the hold of a %s ends later by itself (%s)", purpose.value, reason)


def _renew(databases: Databases, hold_id: int, finished: Event) -> None:
    while not finished.wait(RENEW_SECONDS):
        try:
            with databases.write_session.begin() as session:
                renewed = update(FileHold).where(FileHold.id == hold_id).values(renewed_at=now())
                bulk.execute_bulk(session, renewed)
        except SQLAlchemyError as error:
            reason = driver_reason(error, databases.write_engine.url)
            log.warning("the hold on files could not be renewed (%s); trying again", reason)
