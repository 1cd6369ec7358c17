"""What processes note for others in the database (`modhub.ops.models.Observation`)."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from modhub.db import Databases, now
from modhub.ops.models import Observation

_INSERTS: Final[dict[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def record_observation(session: Session, name: str, text: str = "", *, keeps_first: bool = False) -> None:
    """Note that ``name`` was observed now. ``keeps_first``: an earlier time and text stay."""
    values = {"observed_at": now(), "text": text}
    insert = _INSERTS[session.get_bind().dialect.name](Observation).values(name=name, **values)
    if keeps_first:
        session.execute(insert.on_conflict_do_nothing())
    else:
        session.execute(insert.on_conflict_do_update(index_elements=[Observation.name], set_=values))


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
