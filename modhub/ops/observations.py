"""What processes note for others in the database (`modhub.ops.models.Observation`)."""

import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from modhub.content.limits import MB
from modhub.db import Databases, now
from modhub.ops.models import Observation

_INSERTS: Final[dict[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_FILE: Final = text("SELECT file FROM pragma_database_list WHERE name = 'main'")
_SMALL_MEMORY: Final = text("SET LOCAL work_mem = '64kB'")
_NEED_ROOM: Final = text(
    "WITH filler AS MATERIALIZED (SELECT repeat('x', 16384) FROM generate_series(1, 64)) SELECT count(*) FROM filler"
)
"""A megabyte that PostgreSQL has to put into a temporary file: nothing of it is kept."""


def record_observation(
    session: Session, name: str, note: str = "", *, keeps_first: bool = False, at: datetime | None = None
) -> None:
    """Note that ``name`` was observed ``at`` a time, or now. ``keeps_first``: an earlier time and note stay."""
    values = {"observed_at": at or now(), "text": note}
    insert = _INSERTS[session.get_bind().dialect.name](Observation).values(name=name, **values)
    if keeps_first:
        session.execute(insert.on_conflict_do_nothing())
    else:
        session.execute(insert.on_conflict_do_update(index_elements=[Observation.name], set_=values))


def record_written(session: Session, name: str) -> None:
    """Note ``name`` only if there is room for more.

    On a full disk PostgreSQL still replaces a row in its page, and both write the logs that they have reserved.
    """
    record_observation(session, name)
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


def recorded_if_readable(databases: Databases, prefix: str) -> dict[str, tuple[datetime, str]]:
    """The time and text of each observation whose name begins with ``prefix``; none if they cannot be read."""
    if databases.has_no_file:
        return {}
    rows = select(Observation).where(Observation.name.startswith(prefix, autoescape=True))
    try:
        with databases.readonly_session() as session:
            return {row.name: (row.observed_at, row.text) for row in session.scalars(rows)}
    except SQLAlchemyError:
        return {}
