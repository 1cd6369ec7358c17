"""Fast reads: statements compiled once, run on driver connections without a session."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite import dialect as SqliteDialect  # noqa: N812 - a class by a function's name
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.sql import Select

Row = Sequence[Any]
_DIALECTS: Final[dict[str, Any]] = {
    "sqlite": SqliteDialect(paramstyle="named"),
    "postgresql": PGDialect_psycopg(),  # type: ignore[no-untyped-call]
}


class PreparedQuery:
    """A ``select()`` compiled once for the driver; parameters are by name, values as the driver returns them.

    It is compiled when a database first needs it: compiling dozens of them is a fifth of the start, and a command runs
    only a few. So it can stand at the top of a module.
    """

    def __init__(self, select: "Select[*tuple[Any, ...]] | Callable[[str], Select[*tuple[Any, ...]]]") -> None:
        """``select``: or what makes it for ``sqlite`` or ``postgresql``, if it has another shape on each."""
        self._select = select
        self._compiled: dict[str, tuple[str, dict[str, Any]]] = {}

    def compile(self, dialect: str) -> tuple[str, dict[str, Any]]:
        """(the SQL, the values bound in the statement itself)."""
        if dialect not in self._compiled:
            made = self._select if isinstance(self._select, Select) else self._select(dialect)
            compiled = made.compile(dialect=_DIALECTS[dialect], compile_kwargs={"render_postcompile": True})
            values = {name: value for name, value in compiled.params.items() if value is not None}
            self._compiled[dialect] = str(compiled), values
        return self._compiled[dialect]


class RawQueryExecutor:
    """Runs statements on driver connections in autocommit, from a pool of its own.

    The engine opens the connections; checking them out of its pool would cost more than most statements (measured: 25
    microseconds each time).
    """

    def __init__(self, engine: Engine, *, max_idle: int, max_connections: int, pool_timeout: float) -> None:
        """``max_idle`` connections are kept open between requests."""
        self.engine = engine
        self._max_idle = max_idle
        self._pool_timeout = pool_timeout
        # An entry for each connection that may be taken. A semaphore of `threading`, which is written in Python, costs
        # a kept read as much as its statement.
        self._slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(max_connections):
            self._slots.put(None)
        self.dialect = engine.dialect.name
        # psycopg: as bytes, half the time of text for long documents.
        self._options: dict[str, Any] = {"binary": True} if self.dialect == "postgresql" else {}
        # A list: pop and append are atomic, and the last used connection is the warmest.
        self._idle: list[Any] = []
        self._emptied = 0

    @property
    def idle_count(self) -> int:
        """The number of idle connections."""
        return len(self._idle)

    def rows(self, statement: PreparedQuery, **parameters: Any) -> list[Row]:
        """All rows. PoolTimeout if no connection is free for too long.

        An idle connection that has been lost (the database was restarted) is replaced by a new one, once.
        """
        sql, bound_values = statement.compile(self.dialect)
        values = {**bound_values, **parameters}
        try:
            self._slots.get(timeout=self._pool_timeout)
        except Empty:
            raise PoolTimeout("all connections for reading are in use") from None
        try:
            emptied = self._emptied
            try:
                connection, was_idle = self._idle.pop(), True
            except IndexError:
                connection, was_idle = self._connect(), False
            rows = self._run(connection, sql, values, emptied=emptied, was_idle=was_idle)
            if rows is None:
                rows = self._run(self._connect(), sql, values, emptied=emptied)
        finally:
            self._slots.put(None)
        return rows or []

    def _run(
        self, connection: Any, sql: str, values: dict[str, Any], *, emptied: int, was_idle: bool = False
    ) -> list[Row] | None:
        """The rows; None if the connection was lost while it was idle. It is kept unless the pool was emptied since."""
        try:
            # The engine's listeners see these statements like any other.
            for listener in self.engine.dispatch.before_cursor_execute:
                listener(None, None, sql, values, None, False)
            rows: list[Row] = connection.execute(sql, values, **self._options).fetchall()
        except BaseException as error:
            # Before it is closed: psycopg's connections know best whether they are alive.
            is_lost = was_idle and self.engine.dialect.is_disconnect(error, connection, None)  # type: ignore[arg-type]
            connection.close()
            if is_lost:
                return None
            raise
        if len(self._idle) < self._max_idle and emptied == self._emptied:
            self._idle.append(connection)
        else:
            connection.close()
        return rows

    def _connect(self) -> Any:
        pooled = self.engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        return connection

    def dispose(self) -> None:
        """Close the idle connections now, and those in use after their statement."""
        self._emptied += 1
        # Others may pop at the same time.
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
