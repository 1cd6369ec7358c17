"""``modhub-admin migrate --down``: back to an earlier revision, if nothing is lost by it.

A downgrade drops tables and columns. Whether they hold anything is counted before, and compared afterwards in the same
transaction, which is rolled back if rows or values are missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, MetaData, Table, column, func, literal_column, select

from modhub.base.settings import StartRefused
from modhub.db import Databases
from modhub.declarations import Migrations
from modhub.ops import migrate
from modhub.ops.migration_plan import revisions_to_undo
from modhub.ops.schema_state import refuse_newer, schema_state


@dataclass(frozen=True, slots=True)
class TableContent:
    """How many rows a table has, and in how many of them each column has another value than its default."""

    rows: int
    values: dict[str, int]


def downgrade(databases: Databases, package: Migrations, revision: str) -> bool:
    """Take ``package`` back to ``revision`` in one transaction; False if it is there already.

    Raises `StartRefused` if rows or values would be lost, or if ``revision`` is not an earlier
    one.
    """
    with migrate.migration_lock(databases) as connection:
        refuse_newer({package: schema_state(connection, package)})
        if not revisions_to_undo(connection, package, revision):
            return False
        before = _count_content(connection, package)
        migrate.downgrade_package(connection, package, revision)
        if losses := list(_compare(before, _count_content(connection, package))):
            raise StartRefused(f"going back to {revision} would lose data and changed nothing: {', '.join(losses)}")
        migrate.record_applied(connection, package)
    return True


def _count_content(connection: Connection, package: Migrations) -> dict[str, TableContent]:
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: _is_counted(name, package))
    return {name: _count_table(connection, table) for name, table in metadata.tables.items()}


def _is_counted(table: str, package: Migrations) -> bool:
    return table.startswith(package.table_prefix) and not table.startswith(package.copies or "\0")


def _count_table(connection: Connection, table: Table) -> TableContent:
    counts = [
        func.count().filter(_differs_from_default(table_column)).label(f"value_{i}")
        for i, table_column in enumerate(table.c)
    ]
    rows, *values = connection.execute(select(func.count(), *counts).select_from(table)).one()
    return TableContent(rows, dict(zip(table.c.keys(), values, strict=True)))


def _differs_from_default(reflected: Any) -> Any:
    # By name: a type that the reflection does not know must not matter.
    value: Any = column(reflected.name)
    default = getattr(reflected.server_default, "arg", None)
    has_value = value.is_not(None)
    if default is None or reflected.identity is not None or "nextval" in str(default):
        return has_value
    return has_value & (value != literal_column(str(default)))


def _compare(before: dict[str, TableContent], after: dict[str, TableContent]) -> Iterator[str]:
    """What was there and is not any more, such as "3 values of hidden_at in core_mod"."""
    nothing = TableContent(0, {})
    for table, content in before.items():
        left = after.get(table, nothing)
        if left.rows < content.rows:
            yield f"{content.rows - left.rows} rows of {table}"
            continue
        for name, count in content.values.items():
            if (missing := count - left.values.get(name, 0)) > 0:
                yield f"{missing} values of {name} in {table}"
