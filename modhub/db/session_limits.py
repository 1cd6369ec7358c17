"""The limits of time of a PostgreSQL connection (C-RUN-15), which reach the server as options of the connection.

A pooler drops them, or gives each transaction another server connection: behind one nothing starts (C-RUN-15).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection

IDLE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class DatabaseLimits:
    """How many connections a process opens, and how long it waits (docs/settings.md)."""

    pool_size: int = 8
    max_overflow: int = 7
    lock_seconds: int = 5
    statement_seconds: int = 0
    """0: no limit, as for commands."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], *, limits_statements: bool) -> "DatabaseLimits":
        """Those of the ini; commands do not limit their statements."""
        return cls(
            settings["sqlalchemy.pool_size"],
            settings["sqlalchemy.max_overflow"],
            settings["modhub.lock_seconds"],
            settings["modhub.statement_seconds"] if limits_statements else 0,
        )


def connection_options(lock_timeout: str, statement_seconds: int) -> str:
    """The startup options of a connection; ``statement_seconds`` 0 is no limit."""
    settings = {
        "lock_timeout": lock_timeout,
        "statement_timeout": f"{statement_seconds}s",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
        "timezone": "UTC",
        # Compiling a statement takes longer than any of ours (measured: 8 of 12 ms for a chain of 1,000).
        "jit": "off",
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def is_behind_pooler(connection: Connection) -> bool:
    """Whether another server process works for this connection than the one that it was told of."""
    if connection.dialect.name != "postgresql":
        return False
    driver_connection: Any = connection.connection.driver_connection
    return bool(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() != driver_connection.info.backend_pid)
