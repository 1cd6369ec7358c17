"""Numbers of rows, which are addresses and identities: none is ever given out twice (C-MOD-2).

A database that has lost its newest rows, by a restore or a failover, would give their numbers out again.
"""

from typing import Final

from sqlalchemy import Connection, Integer, Table, func, inspect, select, text
from sqlalchemy.orm import Session

from modhub.db import Base

ID_GAP: Final = 1000
"""Ids that are skipped where rows may have been lost. Tokens, cached images and addresses that were given out for them
must never name something else."""


def last_used_id(connection: Connection, table: Table) -> int | None:
    """The highest id that the database has given out for the table, also if its row is gone; None if it is not kept."""
    if connection.dialect.name == "sqlite":
        statement = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        last_id: int | None = connection.scalar(statement, {"name": table.name})
        return last_id
    sequence = _sequence_of(connection, table)
    if sequence is None:
        return None
    last_value, is_called = connection.execute(text(f"SELECT last_value, is_called FROM {sequence}")).one()  # noqa: S608
    return int(last_value) if is_called else None


def _sequence_of(connection: Connection, table: Table) -> str | None:
    """The quoted name of the sequence that numbers a PostgreSQL table."""
    key = list(table.primary_key.columns)
    if len(key) != 1:
        return None
    names = {"table": connection.dialect.identifier_preparer.format_table(table), "column": key[0].name}
    sequence: str | None = connection.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), names)
    return sequence


def skip_ids(connection: Connection, table: Table, given_out: int = 0) -> None:
    """Number the next row `ID_GAP` above ``given_out`` and all rows that there are or were; no-op without a sequence.

    On PostgreSQL a rollback does not undo it.
    """
    key = list(table.primary_key.columns)
    if len(key) != 1 or not isinstance(key[0].type, Integer):
        return
    is_sqlite = connection.dialect.name == "sqlite"
    sequence = None if is_sqlite else _sequence_of(connection, table)
    if not (table.dialect_options["sqlite"]["autoincrement"] if is_sqlite else sequence):
        return
    in_table = connection.scalar(select(func.max(key[0]))) or 0
    last = max(given_out, in_table, last_used_id(connection, table) or 0) + ID_GAP
    if is_sqlite:
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        statement = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)")
        connection.execute(statement, {"name": table.name, "last": last})
    else:
        connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


def skip_all_ids(session: Session) -> None:
    """As `skip_ids`, for all tables, in the transaction of ``session``."""
    connection = session.connection()
    present = set(inspect(connection).get_table_names())
    for table in Base.metadata.sorted_tables:
        if table.name in present:
            skip_ids(connection, table)
