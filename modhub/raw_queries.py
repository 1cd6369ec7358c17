"""Statements for the short way of reading: compiled once, run on driver connections, no session."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite import dialect as SqliteDialect  # noqa: N812 - a class by a function's name
from sqlalchemy.sql import Select

Row = Sequence[Any]
MAX_IDLE_CONNECTIONS: Final = 16
"""Connections that are kept between requests."""

_DIALECTS: Final[dict[str, Any]] = {
    "sqlite": SqliteDialect(paramstyle="named"),
    "postgresql": PGDialect_psycopg(),  # type: ignore[no-untyped-call]
}


class PreparedQuery:
    """A ``select()`` compiled once for the driver; parameters are by name. Values come as the driver gives them.

    When it first runs: a start would wait for dozens of them, a fifth of its time, of which a command runs a few.
    """

    def __init__(self, select: "Select[*tuple[Any, ...]]", dialect: str) -> None:
        self._select = select
        self._dialect = dialect

    @cached_property
    def compiled(self) -> tuple[str, dict[str, Any]]:
        """(the SQL, the values that stand in the statement itself)."""
        found = self._select.compile(dialect=_DIALECTS[self._dialect], compile_kwargs={"render_postcompile": True})
        return str(found), {name: value for name, value in found.params.items() if value is not None}


class _Gone(Exception):
    """A kept connection had died; another one will do."""


class RawQueryExecutor:
    """Runs statements on driver connections in autocommit, which it keeps by itself.

    The engine makes the connections; lending them through its pool would cost more than most statements (measured: 25
    microseconds a time).
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        # A list: pop and append are atomic, and the connection used last is the warmest.
        self._idle: list[Any] = []

    def prepare(self, select: "Select[*tuple[Any, ...]]") -> PreparedQuery:
        """``select`` for this database."""
        return PreparedQuery(select, self.dialect)

    def rows(self, statement: PreparedQuery, **values: Any) -> list[Row]:
        """All rows. Kept connections that have died meanwhile (the database was restarted) are passed over."""
        sql, own = statement.compiled
        given = {**own, **values}
        while (connection := self._take()) is not None:
            try:
                return self._rows(connection, sql, given, kept=True)
            except _Gone:
                continue
        return self._rows(self._connect(), sql, given, kept=False)

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connect(self) -> Any:
        lent = self.engine.raw_connection()
        connection = lent.driver_connection
        lent.detach()
        return connection

    def _rows(self, connection: Any, sql: str, given: dict[str, Any], *, kept: bool) -> list[Row]:
        try:
            cursor = connection.cursor()
            # Whoever listens to the engine hears of these statements as of any other.
            for heard in self.engine.dispatch.before_cursor_execute:
                heard(None, cursor, sql, given, None, False)
            cursor.execute(sql, given)
            found: list[Row] = cursor.fetchall()
            cursor.close()
        except BaseException as problem:
            # Asked before we close it ourselves: psycopg's connections know best whether they are alive.
            gone = self.engine.dialect.is_disconnect(problem, connection, None)  # type: ignore[arg-type]
            connection.close()
            if kept and gone:
                raise _Gone from problem
            raise
        if len(self._idle) < MAX_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()
        return found

    def dispose(self) -> None:
        """Close the kept connections."""
        while self._idle:
            self._idle.pop().close()
