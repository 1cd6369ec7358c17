"""Database problems in one sentence for the operator: which database, and the driver's reason.

Never shows a password, neither from the URL nor from the driver's message.
"""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Dialect
from sqlalchemy.exc import DBAPIError

ACCEPTED = "sqlite:////absolute/path or postgresql+psycopg://user:password@host/database"
DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg"}
OLDEST_POSTGRES = 14
"""The first with ``bit_count``, which searches use."""
POSTGRES_EXTRA = "the Python package psycopg, which is not installed: install modhub with its extra [postgres]"
# None: psycopg is installed, but none of the libraries that it needs.
_POSTGRES = {None, "psycopg", "psycopg_binary", "psycopg_c"}
_PREFIX = re.compile(r"^(connection (failed|is bad): )?(connection to server .*? failed: )?((FATAL|ERROR): +)?")
_MAX_REASON_LENGTH = 300


def unusable_url(error: Exception) -> str:
    """The end of a sentence about a database URL (``sqlalchemy.url``) for which no engine can be created."""
    if isinstance(error, ImportError) and error.name in _POSTGRES:
        return f"needs {POSTGRES_EXTRA}"
    return f"cannot be used: it must be {ACCEPTED}"


def driver_reason(error: BaseException, url: URL) -> str:
    """The first line of the driver's message, without the address that it may repeat and without the password."""
    reason = str(error.orig if isinstance(error, DBAPIError) else error).strip().partition("\n")[0]
    reason = _PREFIX.sub("", reason) or type(error).__name__
    if url.password:
        reason = reason.replace(str(url.password), "***")
    return reason[:_MAX_REASON_LENGTH].rstrip(".")


def is_relative(url: URL) -> bool:
    """Whether this is an SQLite database with a relative path: a different file in every working directory."""
    return url.get_backend_name() == "sqlite" and not Path(url.database or "").is_absolute()


def has_no_file(url: URL) -> bool:
    """Whether this is an SQLite database whose folder exists but whose file does not yet."""
    file = Path(url.database or "")
    return url.get_backend_name() == "sqlite" and file.parent.is_dir() and not file.exists()


def unreachable_database(error: BaseException, url: URL) -> str:
    """A sentence without its full stop: which database, where, and why it cannot be reached."""
    if url.get_backend_name() == "sqlite":
        file = Path(url.database or "")
        if not file.parent.is_dir():
            return f"the database cannot be reached: there is no folder {file.parent} for the file {file.name}"
        return f"the database cannot be reached (file {file}): {driver_reason(error, url)}"
    fields = {"host": url.query.get("host") or url.host, "port": url.query.get("port") or url.port or 5432}
    fields |= {"database": url.database, "user": url.username}
    location = ", ".join(f"{name} {_format_value(value)}" for name, value in fields.items() if value)
    return f"the database cannot be reached ({location}): {driver_reason(error, url)}"


def old_server(dialect: Dialect) -> str:
    """A sentence without its full stop if the server that was connected to is too old, else nothing."""
    version = getattr(dialect, "server_version_info", None) or (OLDEST_POSTGRES,)
    if dialect.name != "postgresql" or version[0] >= OLDEST_POSTGRES:
        return ""
    return f"the database is PostgreSQL {version[0]}; it must be {OLDEST_POSTGRES} or later"


def _format_value(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
