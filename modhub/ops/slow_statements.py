"""Names statements that took long, in the log: a JSON line with placeholders and never with values.

Each statement at most once a minute: with a slow database all are slow, and the same few come with every request.
"""

import json
import logging
from time import perf_counter
from typing import Any, Final

from sqlalchemy import Engine, event

from modhub.base.repeated_lines import log_sometimes
from modhub.db import Databases

log = logging.getLogger("modhub.statements")
MAX_CHARACTERS: Final = 2000


class SlowStatements:
    """Counts the statements, and logs some, that take at least ``threshold_ms``."""

    def __init__(self, threshold_ms: int) -> None:
        self._seconds = threshold_ms / 1000
        self.count = 0

    def watch(self, databases: Databases) -> None:
        """Watch all statements of the application."""
        for engine in (databases.write_engine, databases.readonly_engine, databases.best_effort_engine):
            self._watch_engine(engine)
        databases.raw_queries.slow_statements = self

    def _watch_engine(self, engine: Engine) -> None:
        @event.listens_for(engine, "before_cursor_execute")
        def _before(_connection: Any, _cursor: Any, _sql: str, _parameters: Any, context: Any, _many: bool) -> None:
            # Raw queries have no context and measure for themselves.
            if context is not None:
                context.modhub_started_at = perf_counter()

        @event.listens_for(engine, "after_cursor_execute")
        def _after(_connection: Any, _cursor: Any, sql: str, _parameters: Any, context: Any, _many: bool) -> None:
            self.check(sql, context.modhub_started_at)

        @event.listens_for(engine, "handle_error")
        def _failed(failure: Any) -> None:
            started_at = getattr(failure.execution_context, "modhub_started_at", None)
            if started_at is not None and failure.statement is not None:
                self.check(failure.statement, started_at)

    def check(self, sql: str, started_at: float) -> None:
        """Count and log ``sql`` if it began too long ago (`time.perf_counter`)."""
        seconds = perf_counter() - started_at
        if seconds < self._seconds:
            return
        self.count += 1
        statement = " ".join(sql.split())[:MAX_CHARACTERS]
        line = json.dumps({"statement": statement, "ms": round(seconds * 1000, 1)})
        log_sometimes(log, logging.WARNING, "%s", line, subject=statement)
