"""What is wrong with the database, in one sentence for the operator: where it is, and the driver's reason.

No password is shown, neither from the address nor from what the driver says.
"""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

ACCEPTED = "sqlite:////absolute/path or postgresql+psycopg://user:password@host/database"
DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg"}
POSTGRES_EXTRA = "the Python package psycopg, which is not installed: install modhub with its extra [postgres]"
# Without a name: psycopg is there, and none of the libraries that it works with.
_POSTGRES = {None, "psycopg", "psycopg_binary", "psycopg_c"}
_PREFIX = re.compile(r"^(connection (failed|is bad): )?(connection to server .*? failed: )?((FATAL|ERROR): +)?")
_LONGEST = 300


def unusable_url(problem: Exception) -> str:
    """The end of a sentence about an address (``sqlalchemy.url``) for which no engine could be made."""
    if isinstance(problem, ImportError) and problem.name in _POSTGRES:
        return f"needs {POSTGRES_EXTRA}"
    return f"cannot be used: it must be {ACCEPTED}"


def driver_reason(problem: BaseException, url: URL) -> str:
    """The first line of what the driver says, without the address that it may repeat and without the password."""
    said = str(problem.orig if isinstance(problem, DBAPIError) else problem).strip().partition("\n")[0]
    said = _PREFIX.sub("", said) or type(problem).__name__
    if url.password:
        said = said.replace(str(url.password), "***")
    return said[:_LONGEST].rstrip(".")


def is_relative(url: URL) -> bool:
    """Whether this is an SQLite database that is another one in every folder from which a command is started."""
    return url.get_backend_name() == "sqlite" and not Path(url.database or "").is_absolute()


def has_no_file(url: URL) -> bool:
    """Whether this is an SQLite database that nobody has made yet, in a folder that is there."""
    file = Path(url.database or "")
    return url.get_backend_name() == "sqlite" and file.parent.is_dir() and not file.exists()


def unreachable_database(problem: BaseException, url: URL) -> str:
    """A sentence without its end: which database, where, and why not."""
    if url.get_backend_name() == "sqlite":
        file = Path(url.database or "")
        if not file.parent.is_dir():
            return f"the database cannot be reached: there is no folder {file.parent} for the file {file.name}"
        return f"the database cannot be reached (file {file}): {driver_reason(problem, url)}"
    where = {"host": url.query.get("host") or url.host, "port": url.query.get("port") or url.port or 5432}
    where |= {"database": url.database, "user": url.username}
    told = ", ".join(f"{name} {_shown(value)}" for name, value in where.items() if value)
    return f"the database cannot be reached ({told}): {driver_reason(problem, url)}"


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
