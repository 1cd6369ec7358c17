"""The database: engines, the declarative base, column types, sessions.

The write engine begins with ``BEGIN IMMEDIATE`` on SQLite, because a transaction that reads first and writes later
fails under contention. The read-only engine is in autocommit and never writes. The best-effort engine writes what may
be lost, and waits for nothing.
"""

import sqlite3
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import zope.sqlalchemy
from sqlalchemy import URL, BigInteger, Engine, Integer, MetaData, create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker
from sqlalchemy.types import TypeDecorator

from modhub.base.settings import StartRefused
from modhub.base.system_faults import is_system_fault
from modhub.db import database_errors, failover, session_limits
from modhub.db.raw_queries import RawQueryExecutor
from modhub.db.session_limits import DatabaseLimits as DatabaseLimits
from modhub.db.unit_of_work import CommitSteps, WriteSession, take_steps

DATABASE_CONNECT_SECONDS = 4
"""Less than the five seconds of `/readyz` and `doctor`, so that these can say what is wrong."""
POOL_TIMEOUT_SECONDS = 5
"""To wait for a free connection; then 503."""
LOCK_RETRY_MS = 20
"""SQLite's ``busy_timeout`` for one attempt; `_try_begin` retries for ``modhub.lock_seconds``. SQLite's own back-off
reaches 100 ms and starves waiters: with eight writers one waited 2.7 s; with this, 0.2 s."""
_CLOCK = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SQLITE_TRANSIENT = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
}
_POSTGRES_TRANSIENT = ("08", "53", "57", "55P03", "40", "25006", "25P03")


class Base(DeclarativeBase):
    """The base of all models; constraint names are fixed so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


# SQLite autoincrements INTEGER columns only.
Id = BigInteger().with_variant(Integer(), "sqlite")


class Timestamp(TypeDecorator[datetime]):
    """A UTC time, stored as whole microseconds since 1970 so that both databases order and compare it alike."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> int | None:  # noqa: ARG002
        """Return the microseconds since 1970 that the database keeps."""
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
    """The current time, UTC."""
    return datetime.now(UTC)


def shared_now(session: Session) -> datetime:
    """The current time by the clock that all machines share, PostgreSQL's: for times that are compared with each other.

    With SQLite there is one machine.
    """
    if session.get_bind().dialect.name != "postgresql":
        return now()
    return from_micros(session.execute(_CLOCK).scalar_one())


def iso(value: datetime) -> str:
    """``2026-11-21T08:15:30.123456Z`` (C-TXT-4)."""
    # Ten times as fast as strftime, and pages show many times.
    return value.isoformat(timespec="microseconds")[:26] + "Z"


class Databases:
    """The engines of one application, and the session factories for them.

    Write sessions notify the subscribers of ``registry`` and take ``steps`` when they commit.
    """

    def __init__(
        self, url: str, limits: DatabaseLimits | None = None, registry: Any = None, steps: CommitSteps | None = None
    ) -> None:
        self.limits = limits or DatabaseLimits()
        try:
            self.write_engine = _engine(url, self.limits)
            self.readonly_engine = _engine(url, self.limits, isolation_level="AUTOCOMMIT")
            self.best_effort_engine = _engine(url, self.limits, waits=False)
        except Exception as error:  # noqa: BLE001 - a bad URL can make the driver raise anything
            raise StartRefused(f"the setting sqlalchemy.url {database_errors.unusable_url(error)}") from None
        self.dialect = self.write_engine.dialect.name
        if database_errors.DRIVERS.get(self.dialect) != self.write_engine.driver:
            raise StartRefused(f"the setting sqlalchemy.url must be {database_errors.ACCEPTED}")
        if database_errors.is_relative(self.write_engine.url):
            raise StartRefused(f"the setting sqlalchemy.url has a relative path: it must be {database_errors.ACCEPTED}")
        lock_seconds = self.limits.lock_seconds
        if self.dialect == "postgresql":
            for engine in (self.write_engine, self.best_effort_engine):
                failover.refuse_unconfirmed_commits(engine)
                failover.leave_demoted_server(engine, self.dispose)
        _prepare(self.write_engine, lock_seconds, begin="BEGIN IMMEDIATE")
        _prepare(self.readonly_engine, lock_seconds, begin=None)
        _prepare(self.best_effort_engine, 0, begin="BEGIN IMMEDIATE")
        self.write_session = sessionmaker(self.write_engine, class_=WriteSession, autoflush=False, registry=registry)
        take_steps(self.write_session, steps or CommitSteps())
        self.readonly_session = sessionmaker(self.readonly_engine, autoflush=False)
        self.best_effort_session = sessionmaker(self.best_effort_engine, autoflush=False)
        """For writes that may be lost: if a lock, or their one connection, is not free, they fail at once."""
        self.raw_queries = RawQueryExecutor(
            self.readonly_engine,
            max_idle=self.limits.pool_size,
            max_connections=self.limits.pool_size + self.limits.max_overflow,
            pool_timeout=POOL_TIMEOUT_SECONDS,
        )

    @property
    def has_no_file(self) -> bool:
        """Whether this is an SQLite database that does not exist yet; connecting would create it."""
        return database_errors.has_no_file(self.write_engine.url)

    def joined_session(self, manager: Any) -> Session:
        """A write session that commits and ends with the transaction ``manager``.

        It joins as changed from the start: otherwise writes outside of the ORM's unit of work would be rolled back
        silently.
        """
        session = self.write_session()
        zope.sqlalchemy.register(session, initial_state="changed", transaction_manager=manager)
        return session

    def dispose(self) -> None:
        """Close all pooled connections, and those in use once they are returned: the next ones are new."""
        self.raw_queries.dispose()
        for engine in (self.write_engine, self.readonly_engine, self.best_effort_engine):
            engine.dispose()


def _engine(url: str, limits: DatabaseLimits, *, waits: bool = True, **options: Any) -> Engine:
    if url.startswith("postgresql"):
        # 0 would mean no timeout.
        lock_timeout = f"{limits.lock_seconds}s" if waits else "1ms"
        options["connect_args"] = {
            "connect_timeout": DATABASE_CONNECT_SECONDS,
            "options": session_limits.connection_options(lock_timeout, limits.statement_seconds),
        }
        options["pool_pre_ping"] = True
    if waits:
        pool = {
            "pool_size": limits.pool_size,
            "max_overflow": limits.max_overflow,
            "pool_timeout": POOL_TIMEOUT_SECONDS,
        }
    else:
        pool = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0}
    # Errors are logged with their statements: what these write is nobody's to read.
    return create_engine(url, hide_parameters=True, **pool, **options)


def _prepare(engine: Engine, lock_seconds: int, begin: str | None) -> None:
    """Listen to the connections of SQLite. ``lock_seconds`` 0: fail at once."""
    if engine.dialect.name != "sqlite":
        return

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # The driver must not begin transactions: our "begin" listener does.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {lock_seconds * 1000}")
        connection.execute("PRAGMA foreign_keys = ON")
        if begin is None:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            # FULL: acknowledged writes survive a power cut (T-F1).
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA busy_timeout = {LOCK_RETRY_MS if lock_seconds else 0}")

    if begin is not None:

        @event.listens_for(engine, "reset")
        def _reset(connection: Any, _record: Any, _state: Any) -> None:
            # A COMMIT that SQLite rejects leaves the transaction open, but the pool believes it has ended.
            connection.rollback()

        @event.listens_for(engine, "begin")
        def _begin(connection: Any) -> None:
            deadline = monotonic() + lock_seconds
            while not _try_begin(connection, begin, last=monotonic() >= deadline):
                pass


def _try_begin(connection: Any, begin: str, *, last: bool) -> bool:
    """Begin; returns False when another transaction is writing, or raises if this is the ``last`` try."""
    try:
        connection.exec_driver_sql(begin)
    except OperationalError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0)
        if last or code & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def fault_reason(error: BaseException, url: URL) -> str:
    """What an operator can mend, in words: a fault of the system, or a database that is away; else nothing."""
    if is_system_fault(error):
        return error.strerror or ""
    return f"the database is not available: {database_errors.driver_reason(error, url)}" if is_transient(error) else ""


def is_transient(error: BaseException) -> bool:
    """Whether a database error is temporary (locked, full, gone) and not about our statement: 503, not 500."""
    if isinstance(error, PoolTimeout):
        return True
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is not None and (code & 0xFF) in _SQLITE_TRANSIENT
    # By module name, because the PostgreSQL driver is an optional extra.
    if type(cause).__module__.startswith("psycopg"):
        state = getattr(cause, "sqlstate", None)
        # Without a state it is of the driver: a lost connection, or with a class of its own one that nobody answers.
        names = {base.__name__ for base in type(cause).__mro__}
        return "OperationalError" in names if state is None else state.startswith(_POSTGRES_TRANSIENT)
    return False
