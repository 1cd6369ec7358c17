"""Bulk UPDATE and DELETE that bypass the ORM's identity map, in batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeVar

from sqlalchemy import CursorResult, Delete, Update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

BATCH: Final = 500
"""Rows per batch. A statement takes at most 65,535 parameters on PostgreSQL and 32,766 on SQLite."""

BATCH_PAUSE_SECONDS: Final = 0.05
"""Pause between two batches: longer than `modhub.db.LOCK_RETRY_MS`, so that on SQLite every waiting writer gets a
chance to take the lock."""

_Item = TypeVar("_Item")


def batches(values: Iterable[_Item], size: int = BATCH) -> Iterator[list[_Item]]:
    """The values in order, ``size`` at a time; no empty batch."""
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


def execute_bulk(session: Session, statement: Update | Delete) -> int:
    """Execute with ``synchronize_session=False`` (loaded objects become stale) and return the row count.

    With a guarded WHERE, a result of 1 means that this caller won the race.
    """
    result = session.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount


def upsert(session: Session, model: Any) -> Any:
    """Return an INSERT that has ``on_conflict_do_nothing`` and ``on_conflict_do_update``: others may do it at once."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    return dialect.insert(model)
