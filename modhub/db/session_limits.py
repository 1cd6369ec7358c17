"""The limits of time of a PostgreSQL connection (C-RUN-15), and the ways by which they reach the server.

Without a pooler they are options of the connection. A pooler in transaction mode gives each transaction another server
connection and knows no options, so there they are settings of the role, and writes repeat theirs with the transaction.
Nothing here or elsewhere leaves state in a session: no LISTEN, no lock or SET that outlives its transaction.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, event

IDLE_SECONDS: Final = 60
_MILLISECONDS: Final = {"s": 1000, "ms": 1}
_IN_FORCE: Final = "SELECT name, setting FROM pg_settings WHERE name = ANY(%(names)s)"
_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
POOLER_HINT: Final = "set modhub.database_pooler = transaction (docs/operations.md, A pooler)"


@dataclass(frozen=True, slots=True)
class DatabaseLimits:
    """How many connections a process opens, and how long it waits (docs/settings.md)."""

    pool_size: int = 8
    max_overflow: int = 7
    lock_seconds: int = 5
    statement_seconds: int = 0
    """0: no limit, as for commands."""
    role_statement_seconds: int = 0
    """That of the ini, also for commands."""
    pooler: bool = False
    """Whether a pooler in transaction mode stands before PostgreSQL."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], *, limits_statements: bool) -> "DatabaseLimits":
        """Those of the ini; commands do not limit their statements."""
        return cls(
            settings["sqlalchemy.pool_size"],
            settings["sqlalchemy.max_overflow"],
            settings["modhub.lock_seconds"],
            settings["modhub.statement_seconds"] if limits_statements else 0,
            settings["modhub.statement_seconds"],
            settings["modhub.database_pooler"] == "transaction",
        )

    @property
    def connections(self) -> int:
        """The most connections of a process: of the writing, the reading and the raw pool, and one of best effort."""
        return 3 * (self.pool_size + self.max_overflow) + 1


def session_settings(lock_timeout: str, statement_seconds: int) -> dict[str, str]:
    """What a connection has to be set to, by the names of PostgreSQL; ``statement_seconds`` 0 is no limit."""
    return {
        "lock_timeout": lock_timeout,
        "statement_timeout": f"{statement_seconds}s",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
        "timezone": "UTC",
        # Compiling a statement takes longer than any of ours (measured: 8 of 12 ms for a chain of 1,000).
        "jit": "off",
    }


def role_settings(limits: DatabaseLimits) -> dict[str, str]:
    """What the role has to be set to behind a pooler."""
    return session_settings(f"{limits.lock_seconds}s", limits.role_statement_seconds)


def role_statements(url: URL, limits: DatabaseLimits) -> Iterator[str]:
    """The SQL that sets the role of ``url``; roles may change themselves."""
    role, database = (_quoted(name or "YOUR_NAME") for name in (url.username, url.database))
    for name, value in role_settings(limits).items():
        yield f"ALTER ROLE {role} IN DATABASE {database} SET {name} = '{value}';"


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def limit_transactions(engine: Engine, lock_timeout: str, statement_seconds: int) -> None:
    """Begin each transaction of ``engine`` by setting its own limits, which end with it."""
    set_limits = (
        f"SELECT set_config('lock_timeout', '{lock_timeout}', true), "
        f"set_config('statement_timeout', '{statement_seconds}s', true)"
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(set_limits)


def is_behind_pooler(connection: Connection) -> bool:
    """Whether another server process works for this connection than the one that it was told of."""
    driver_connection: Any = connection.connection.driver_connection
    return bool(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() != driver_connection.info.backend_pid)


def limits_not_in_force(connection: Connection, limits: DatabaseLimits) -> str:
    """A sentence without its full stop if a pooler stands before the server and takes limits away, else nothing."""
    if connection.dialect.name != "postgresql":
        return ""
    if not limits.pooler:
        if is_behind_pooler(connection):
            return f"the database is behind a pooler, which takes the limits of time away; {POOLER_HINT}"
        return ""
    expected = {name: _number(value) for name, value in role_settings(limits).items()}
    rows = connection.exec_driver_sql(_IN_FORCE, {"names": ["TimeZone" if n == "timezone" else n for n in expected]})
    actual = {name.lower(): value.lower() for name, value in rows}
    wrong = [name for name, value in expected.items() if actual.get(name) != value]
    if not wrong:
        return ""
    return (
        f"behind the pooler {', '.join(wrong)} of the role differ from the limits of the ini: run the statements "
        "that modhub-admin pooler prints, then let the pooler reconnect"
    )


def _number(value: str) -> str:
    """``5s`` as ``5000``: times as pg_settings has them."""
    match = re.fullmatch(r"([0-9]+)(ms|s)", value)
    return str(int(match[1]) * _MILLISECONDS[match[2]]) if match else value.lower()
