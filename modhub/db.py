"""The database: the engines over one address, the declarative base, the column types, the request's session.

The writing engine begins with ``BEGIN IMMEDIATE`` on SQLite, because a transaction that reads first and writes later
fails under contention. The reading engine is in autocommit and never writes. The noting engine writes
what may be left out, and waits for nothing.
"""

import sqlite3
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import zope.sqlalchemy
from sqlalchemy import BigInteger, Engine, Integer, MetaData, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker
from sqlalchemy.types import TypeDecorator

from modhub.ops import database_errors
from modhub.raw_queries import RawQueryExecutor
from modhub.settings import StartRefused

BUSY_SECONDS = 5
LOCK_RETRY_MS = 20
"""SQLite's ``busy_timeout`` for one attempt; `_try_begin` retries until `BUSY_SECONDS`. SQLite's own back-off reaches
100 ms and starves waiters: with eight writers one waited 2.7 s; with this, 0.2 s."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SQLITE_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
}
_POSTGRES_PASSING = ("08", "53", "57", "55P03", "40", "25006", "25P03")


class Base(DeclarativeBase):
    """The base of every model of every package; constraint names are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


# SQLite numbers rows by itself only where the column is INTEGER.
Id = BigInteger().with_variant(Integer(), "sqlite")


class Timestamp(TypeDecorator[datetime]):
    """A UTC time, kept as whole microseconds since 1970 so that both databases order and compare it alike."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> int | None:  # noqa: ARG002
        """Microseconds."""
        return None if value is None else to_micros(value)

    def process_result_value(self, value: int | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        """An aware UTC time."""
        return None if value is None else from_micros(value)


def to_micros(value: datetime) -> int:
    """Whole microseconds since 1970."""
    return (value - _EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """The UTC time of ``value`` microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=value)


def now() -> datetime:
    """The time of the service, UTC."""
    return datetime.now(UTC)


def iso(value: datetime) -> str:
    """``2026-11-21T08:15:30.123456Z`` (C-TXT-4)."""
    # Ten times as fast as strftime, and pages have many.
    return value.isoformat(timespec="microseconds")[:26] + "Z"


class Databases:
    """The engines of one application and the sessions over them."""

    def __init__(self, url: str, pool_size: int = 10) -> None:
        try:
            self.write_engine = _engine(url, pool_size)
            self.readonly_engine = _engine(url, pool_size, isolation_level="AUTOCOMMIT")
            self.best_effort_engine = _engine(url, 1, waits=False)
        except Exception as problem:  # noqa: BLE001 - whatever the address makes the driver say, the operator reads a sentence
            raise StartRefused(f"the setting sqlalchemy.url {database_errors.unusable_url(problem)}") from None
        self.dialect = self.write_engine.dialect.name
        if database_errors.DRIVERS.get(self.dialect) != self.write_engine.driver:
            raise StartRefused(f"the setting sqlalchemy.url must be {database_errors.ACCEPTED}")
        if database_errors.is_relative(self.write_engine.url):
            raise StartRefused(f"the setting sqlalchemy.url has a relative path: it must be {database_errors.ACCEPTED}")
        _prepare(self.write_engine, begin="BEGIN IMMEDIATE")
        _prepare(self.readonly_engine, begin=None)
        _prepare(self.best_effort_engine, begin="BEGIN IMMEDIATE", waits=False)
        self.write_session = sessionmaker(self.write_engine, autoflush=False)
        self.readonly_session = sessionmaker(self.readonly_engine, autoflush=False)
        self.best_effort_session = sessionmaker(self.best_effort_engine, autoflush=False)
        """Sessions for what may be left out: where a lock, or their one connection, is not free they fail at once."""
        self.raw_queries = RawQueryExecutor(self.readonly_engine)

    def joined_session(self, manager: Any) -> Session:
        """A writing session that commits and ends with the transaction ``manager``.

        It joins as changed from the start: otherwise what is written without the ORM's unit of work would be rolled
        back without an error.
        """
        session = self.write_session()
        zope.sqlalchemy.register(session, initial_state="changed", transaction_manager=manager)
        return session

    def dispose(self) -> None:
        """Close every kept connection."""
        self.raw_queries.dispose()
        self.write_engine.dispose()
        self.readonly_engine.dispose()
        self.best_effort_engine.dispose()


def _engine(url: str, pool_size: int, *, waits: bool = True, **options: Any) -> Engine:
    if url.startswith("postgresql"):
        # To PostgreSQL 0 means for ever.
        locks = f"{BUSY_SECONDS}s" if waits else "1ms"
        options["connect_args"] = {
            "connect_timeout": BUSY_SECONDS,
            "options": f"-c lock_timeout={locks} -c timezone=UTC -c idle_in_transaction_session_timeout=60s",
        }
        options["pool_pre_ping"] = True
    more, seconds = (pool_size, BUSY_SECONDS) if waits else (0, 0)
    return create_engine(url, pool_size=pool_size, max_overflow=more, pool_timeout=seconds, **options)


def _prepare(engine: Engine, begin: str | None, *, waits: bool = True) -> None:
    if engine.dialect.name != "sqlite":
        return

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # The driver must not begin by itself: our "begin" listener does.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        connection.execute("PRAGMA foreign_keys = ON")
        if begin is None:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            # FULL: what was acknowledged survives a power cut (T-F3).
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA busy_timeout = {LOCK_RETRY_MS if waits else 0}")

    if begin is not None:

        @event.listens_for(engine, "reset")
        def _reset(connection: Any, _record: Any, _state: Any) -> None:
            # A COMMIT that SQLite refuses leaves its transaction open, and the pool believes it is over.
            connection.rollback()

        @event.listens_for(engine, "begin")
        def _begin(connection: Any) -> None:
            deadline = monotonic() + (BUSY_SECONDS if waits else 0)
            while not _try_begin(connection, begin, last=monotonic() >= deadline):
                pass


def _try_begin(connection: Any, begin: str, *, last: bool) -> bool:
    """Whether the transaction has begun; False when another one writes just now. The ``last`` time that is an error."""
    try:
        connection.exec_driver_sql(begin)
    except OperationalError as problem:
        code = getattr(problem.orig, "sqlite_errorcode", 0)
        if last or code & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def is_transient(error: BaseException) -> bool:
    """Whether a database error is about the moment (locked, full, gone), not about our statement: 503, not 500."""
    if isinstance(error, PoolTimeout):
        return True
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is not None and (code & 0xFF) in _SQLITE_PASSING
    # By its shape, because the PostgreSQL driver is an extra that need not be installed.
    if type(cause).__module__.startswith("psycopg"):
        state = getattr(cause, "sqlstate", None)
        return type(cause).__name__ == "OperationalError" if state is None else state.startswith(_POSTGRES_PASSING)
    return False
