"""Log lines as JSON objects, for ``[formatter_…] class = modhub.ops.json_lines.JsonLineFormatter`` in the ini."""

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

JSON_LOGGERS: Final = frozenset({"modhub.requests", "modhub.security", "modhub.statements"})
"""Loggers whose messages are JSON objects already: their fields are added to those of the line."""


class JsonLineFormatter(logging.Formatter):
    """One JSON object per line and nothing before it: ``time`` (UTC), ``level``, ``logger``, then ``message``.

    A message that is an object itself takes the place of ``message``. A traceback is a field too, so that a record is
    always one line.
    """

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:23]
        head = f'{{"time": "{time}Z", "level": "{record.levelname}", "logger": {json.dumps(record.name)}'
        message = record.getMessage()
        if record.name in JSON_LOGGERS and message.startswith("{") and len(message) > 2:
            return f"{head}, {message[1:]}"
        fields = {"message": message}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return f"{head}, {json.dumps(fields)[1:]}"
