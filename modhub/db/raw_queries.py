"""Fast reads: statements compiled once, run on driver connections without a session."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
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

    It is compiled on first use: compiling dozens of them is a fifth of the start, and a command runs only a few.
    """

    def __init__(self, select: "Select[*tuple[Any, ...]]", dialect: str) -> None:
        self._select = select
        self._dialect = dialect

    @cached_property
    def compiled(self) -> tuple[str, dict[str, Any]]:
        """(the SQL, the values bound in the statement itself)."""
        compiled = self._select.compile(dialect=_DIALECTS[self._dialect], compile_kwargs={"render_postcompile": True})
        return str(compiled), {name: value for name, value in compiled.params.items() if value is not None}


class _ConnectionLost(Exception):
    """An idle connection had been closed; try another one."""


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
            self._free_slot()
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

    def prepare(self, select: "Select[*tuple[Any, ...]]") -> PreparedQuery:
        """Prepare ``select`` for this database."""
        return PreparedQuery(select, self.dialect)

    def rows(self, statement: PreparedQuery, **parameters: Any) -> list[Row]:
        """All rows. PoolTimeout if no connection is free for too long."""
        sql, bound_values = statement.compiled
        return self._run(sql, {**bound_values, **parameters})

    def stream(self, statement: PreparedQuery, **parameters: Any) -> Generator[Row]:
        """The rows one by one, so that many long ones are never in memory together.

        The connection is in use until the last row: never wait for a client in between.
        """
        sql, bound_values = statement.compiled
        self._take_slot()
        emptied = self._emptied
        try:
            connection, first, rows = self._begin_stream(sql, {**bound_values, **parameters})
            try:
                if first is not None:
                    yield first
                    yield from rows
            except BaseException:
                connection.close()
                raise
            self._give_back(connection, emptied)
        finally:
            self._free_slot()

    def _begin_stream(self, sql: str, parameters: dict[str, Any]) -> tuple[Any, Row | None, Iterator[Row]]:
        """(the connection, the first row, the others); idle connections that were closed are skipped."""
        while True:
            connection, reused = self._checkout()
            try:
                self._notify(sql, parameters)
                cursor = connection.cursor()
                if self.dialect == "postgresql":
                    rows = cursor.stream(sql, parameters, binary=True)
                else:
                    rows = cursor.execute(sql, parameters)
                first = next(rows, None)
                return connection, first, rows
            except BaseException as error:
                if not (self._close_lost(connection, error) and reused):
                    raise

    def _fetch(self, connection: Any, sql: str, parameters: dict[str, Any]) -> list[Row]:
        rows: list[Row] = connection.execute(sql, parameters, **self._options).fetchall()
        return rows

    def _run(self, sql: str, parameters: dict[str, Any]) -> list[Row]:
        """Idle connections that were closed in the meantime (the database was restarted) are skipped."""
        self._take_slot()
        try:
            while True:
                emptied = self._emptied
                connection, reused = self._checkout()
                try:
                    return self._run_on(connection, sql, parameters, reused=reused, emptied=emptied)
                except _ConnectionLost:
                    continue
        finally:
            self._free_slot()

    def _take_slot(self) -> None:
        try:
            self._slots.get(timeout=self._pool_timeout)
        except Empty:
            raise PoolTimeout("all connections for reading are in use") from None

    def _free_slot(self) -> None:
        self._slots.put(None)

    def _checkout(self) -> tuple[Any, bool]:
        """(a connection, whether it was idle)."""
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._connect(), False

    def _give_back(self, connection: Any, emptied: int) -> None:
        """Keep a connection, unless the pool was emptied since it was taken."""
        if len(self._idle) < self._max_idle and emptied == self._emptied:
            self._idle.append(connection)
        else:
            connection.close()

    def _notify(self, sql: str, parameters: dict[str, Any]) -> None:
        """The engine's listeners see these statements like any other."""
        for listener in self.engine.dispatch.before_cursor_execute:
            listener(None, None, sql, parameters, None, False)

    def _close_lost(self, connection: Any, error: BaseException) -> bool:
        """Close a connection after an error; whether that says that it was lost."""
        # Check before we close it ourselves: psycopg's connections know best whether they are alive.
        is_disconnect = self.engine.dialect.is_disconnect(error, connection, None)  # type: ignore[arg-type]
        connection.close()
        return bool(is_disconnect)

    def _connect(self) -> Any:
        pooled = self.engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        return connection

    def _run_on(
        self, connection: Any, sql: str, parameters: dict[str, Any], *, reused: bool, emptied: int
    ) -> list[Row]:
        try:
            self._notify(sql, parameters)
            rows = self._fetch(connection, sql, parameters)
        except BaseException as error:
            if self._close_lost(connection, error) and reused:
                raise _ConnectionLost from error
            raise
        self._give_back(connection, emptied)
        return rows

    def empty(self) -> None:
        """Close the idle connections now, and those in use after their statement."""
        self._emptied += 1
        self.dispose()

    def dispose(self) -> None:
        """Close the idle connections."""
        # Others may pop at the same time.
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
