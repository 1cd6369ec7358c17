"""When something was last noticed, by a name: what processes and commands leave for ``modhub-admin doctor``."""

import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import String, Text, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.content.limits import MB
from modhub.db import Base, Timestamp, now
from modhub.db.bulk import upsert

BACKUP_VERIFIED: Final = "backup verified"
"""``backup --verify`` has found a backup whole."""
WRITTEN: Final = "database written"
"""Somebody has looked whether the database can be written."""
_FILE: Final = text("SELECT file FROM pragma_database_list WHERE name = 'main'")
_SMALL_MEMORY: Final = text("SET LOCAL work_mem = '64kB'")
_NEED_ROOM: Final = text(
    "WITH filler AS MATERIALIZED (SELECT repeat('x', 16384) FROM generate_series(1, 64)) SELECT count(*) FROM filler"
)
"""A megabyte that PostgreSQL has to put into a temporary file: nothing of it is kept."""


class Observation(Base):
    """What a process noticed that ``modhub-admin doctor`` and others need to know, by a name."""

    __tablename__ = "core_observation"
    __table_args__ = {"info": {"in_backup": False}}

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    observed_at: Mapped[datetime] = mapped_column(Timestamp)
    text: Mapped[str] = mapped_column(Text)


def record_observation(session: Session, name: str, note: str = "") -> None:
    """Note that ``name`` was observed now."""
    values = {"observed_at": now(), "text": note}
    insert = upsert(session, Observation).values(name=name, **values)
    session.execute(insert.on_conflict_do_update(index_elements=[Observation.name], set_=values))


def record_written(session: Session) -> None:
    """Note that the database can be written, only if there is room for more.

    On a full disk PostgreSQL still replaces a row in its page, and both write the logs that they have reserved.
    """
    record_observation(session, WRITTEN)
    if session.get_bind().dialect.name == "postgresql":
        session.execute(_SMALL_MEMORY)
        session.execute(_NEED_ROOM)
    else:
        _need_room_for_file(session)


def _need_room_for_file(session: Session) -> None:
    """Raise SQLite's own error if its disk has no megabyte left."""
    (file,) = session.scalars(_FILE)
    status = os.statvfs(Path(file).parent)
    if status.f_bavail * status.f_frsize < MB:
        raise OperationalError(None, None, sqlite3.OperationalError("database or disk is full"))
