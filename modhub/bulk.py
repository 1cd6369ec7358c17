"""Statements that go round the session's objects, and many rows at once: a batch at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from sqlalchemy import CursorResult, Delete, Update
from sqlalchemy.orm import Session

BATCH: Final = 500
"""Rows at a time. One statement takes 65,535 parameters on PostgreSQL and 32,766 on SQLite, and no more."""

PAUSE_SECONDS: Final = 0.05
"""How long whoever writes batch after batch waits between two of them: longer than `modhub.db.TURN_MS`, so that on
SQLite each writer that waits for the lock has asked for it meanwhile."""

_Item = TypeVar("_Item")


def batches(values: Iterable[_Item], size: int = BATCH) -> Iterator[list[_Item]]:
    """The values in their order, ``size`` at a time; no empty batch."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


def run(session: Session, statement: Update | Delete) -> int:
    """Run a statement of the ORM without telling the session's objects: whoever needs one of them reads it anew.

    Answers how many rows it changed: of many who change a row at once only where it is still as before, one gets 1.
    """
    found = session.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(found, CursorResult)
    return found.rowcount
