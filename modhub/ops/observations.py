"""What processes note for others in the database (`modhub.ops.models.Observation`)."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from modhub.db import now
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


def recorded(session: Session, prefix: str) -> dict[str, tuple[datetime, str]]:
    """The time and text of each observation whose name begins with ``prefix``."""
    rows = select(Observation).where(Observation.name.startswith(prefix, autoescape=True))
    return {row.name: (row.observed_at, row.text) for row in session.scalars(rows)}
