"""Log lines that name the request they belong to, for ``[formatter_…] class = modhub.base.json_lines.…`` in the ini."""

import json
import logging
import time
from typing import Any, Final

from modhub.base.request_ids import current_request_id

JSON_LOGGERS: Final = frozenset({"modhub.requests", "modhub.security"})
"""Loggers whose messages are JSON objects already: their fields are added to those of the line."""


def _request_id(record: logging.LogRecord) -> str:
    """Of the request that this thread handles, where the line does not say it already; else empty."""
    return "" if record.name == "modhub.requests" else current_request_id.get()


class TextLineFormatter(logging.Formatter):
    """Lines for people, in the ``format`` of the ini; those of a request end with its id."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without its traceback."""
        request_id = _request_id(record)
        return super().formatMessage(record) + (f" [request {request_id}]" if request_id else "")


class JsonLineFormatter(logging.Formatter):
    """One JSON object per line: ``time`` (UTC), ``level``, ``logger``, the request's ``id`` if any, then ``message``.

    A message that is an object itself takes the place of ``message``. A traceback is a field too, so that a record is
    always one line.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one JSON object without line breaks."""
        # Names of levels and loggers stand in code: they need no escape.
        head = f'{{"time": "{self.formatTime(record)}", "level": "{record.levelname}", "logger": "{record.name}"'
        if request_id := _request_id(record):
            head += f', "id": "{request_id}"'
        message = record.getMessage()
        if record.name in JSON_LOGGERS and message.startswith("{") and len(message) > 2:
            return f"{head}, {message[1:]}"
        fields = {"message": message}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return f"{head}, {json.dumps(fields)[1:]}"
