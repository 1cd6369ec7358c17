"""Rows as JSON lines, the same from either database. Tables are reflected, so that no column is missed."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import (
    JSON,
    Boolean,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    TableClause,
    Text,
    bindparam,
    cast,
    func,
    insert,
    inspect,
    select,
    text,
)

from modhub.admin.backup.manifest import Column, TableEntry, new_file, table_file
from modhub.base.settings import StartRefused
from modhub.db import Base, bulk
from modhub.ops.migrate import UNMAPPED
from modhub.ops.row_ids import ID_GAP, last_used_id, skip_ids

_KINDS: Final = (
    (JSON, "json"),
    (Boolean, "boolean"),
    (Integer, "integer"),
    (Float, "float"),
    (LargeBinary, "bytes"),
    (String, "text"),
)


MAX_NUMBER: Final = 2**63 - 1 - ID_GAP
"""The largest number of any column; ids go on above it.

A row of a backup may have been changed by somebody, with all its hashes.
"""


def allow_long_transaction(connection: Connection) -> None:
    """Let a transaction on PostgreSQL take as long as the disk does."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))


def table_names(connection: Connection, prefixes: Iterable[str]) -> list[str]:
    """The names of the tables with these prefixes that belong into a backup."""
    prefix_tuple = tuple(prefixes)
    return [
        name
        for name in inspect(connection).get_table_names()
        if name.startswith(prefix_tuple) and not name.startswith(UNMAPPED) and _in_backup(name)
    ]


def reflect_tables(connection: Connection, prefixes: Iterable[str]) -> list[Table]:
    """The tables of `table_names`; those that others refer to come first."""
    names = table_names(connection, prefixes)
    metadata = MetaData()
    metadata.reflect(connection, only=names)
    return [table for table in metadata.sorted_tables if table.name in names]


def _in_backup(name: str) -> bool:
    """A model may exclude its table by ``__table_args__ = {"info": {"in_backup": False}}``."""
    return bool(_info(name).get("in_backup", True))


def may_have_rows(name: str) -> bool:
    """Whether a database counts as empty even if this table has rows, as a service that nobody has used yet makes them.

    A model says so by ``__table_args__ = {"info": {"in_empty_database": True}}``.
    """
    return bool(_info(name).get("in_empty_database", False))


def _info(name: str) -> dict[Any, Any]:
    mapped = Base.metadata.tables.get(name)
    return {} if mapped is None else mapped.info


def write_table(connection: Connection, table: Table, folder: Path, advance: Callable[[int], None]) -> TableEntry:
    """Write all rows of a table, a few at a time; ``connection`` reads from one snapshot."""
    columns = [Column(str(column.name), _kind_of(table, column)) for column in table.columns]
    selected = [
        cast(column, Text) if kind.kind == "json" else column
        for column, kind in zip(table.columns, columns, strict=True)
    ]
    statement = select(*selected).order_by(*table.primary_key.columns)
    digest, count = hashlib.sha256(), 0
    last_id = last_used_id(connection, table)
    result = connection.execution_options(yield_per=bulk.BATCH).execute(statement)
    with new_file(table_file(folder, table.name)) as file:
        for rows in result.partitions():
            # Bytes become base64.
            lines = b"".join(msgspec.json.encode(tuple(row)) + b"\n" for row in rows)
            digest.update(lines)
            file.write(lines)
            count += len(rows)
            advance(len(rows))
    return TableEntry(str(table.name), columns, count, digest.hexdigest(), last_id)


def _kind_of(table: Table, column: Any) -> str:
    for known, kind in _KINDS:
        if isinstance(column.type, known):
            return kind
    raise StartRefused(f"a backup cannot hold the column {table.name}.{column.name} of the type {column.type}")


def read_rows(folder: Path, entry: TableEntry) -> Iterator[list[Any]]:
    """The rows of a table file whose hash has been checked."""
    binary = [index for index, column in enumerate(entry.columns) if column.kind == "bytes"]
    with table_file(folder, entry.name).open("rb") as file:
        for line in file:
            row = _decode_row(line, entry)
            for index in binary:
                row[index] = None if row[index] is None else base64.b64decode(row[index])
            yield row


def _decode_row(line: bytes, entry: TableEntry) -> list[Any]:
    """One row; `StartRefused` if no backup of ours has such a line, whatever its hash says."""
    try:
        row = msgspec.json.decode(line, type=list[Any])
    except msgspec.MsgspecError:
        row = []
    if len(row) != len(entry.columns) or any(isinstance(value, int) and abs(value) > MAX_NUMBER for value in row):
        raise StartRefused(f"the backup is damaged: {entry.name}.jsonl has a row that no database can hold")
    return row


def load_table(
    connection: Connection, table: Table, folder: Path, entry: TableEntry, advance: Callable[[int], None]
) -> None:
    """Insert the rows of the backup into an empty table."""
    missing = [column.name for column in entry.columns if column.name not in table.columns]
    if missing:
        raise StartRefused(f"the table {table.name} has no column {missing[0]}, which the backup has")
    names = [f"value_{index}" for index in range(len(entry.columns))]
    values = {
        column.name: _bound(connection, table, column, name) for column, name in zip(entry.columns, names, strict=True)
    }
    statement = insert(table).values(values)
    for rows in bulk.batches(read_rows(folder, entry)):
        connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])
        advance(len(rows))
    skip_ids(connection, table, entry.last_id or 0)


def _bound(connection: Connection, table: Table, column: Column, name: str) -> Any:
    """JSON is stored as it was written: it is never parsed on the way."""
    kind = table.columns[column.name].type
    if column.kind != "json":
        return bindparam(name, type_=kind)
    written = bindparam(name, type_=Text)
    return written if connection.dialect.name == "sqlite" else cast(written, kind)


def clear_tables(connection: Connection, tables: list[Table]) -> None:
    """Delete the rows that migrations put into new tables."""
    for table in reversed(tables):
        connection.execute(table.delete())


def count_rows(connection: Connection, prefixes: Iterable[str]) -> dict[str, int]:
    """The number of rows of each table of `table_names`."""
    names = table_names(connection, prefixes)
    return {name: connection.scalar(select(func.count()).select_from(TableClause(name))) or 0 for name in names}
