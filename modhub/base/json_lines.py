"""Log lines that name the request they belong to, for ``[formatter_…] class = modhub.base.json_lines.…`` in the ini."""

import json
import logging
import time
from functools import lru_cache
from typing import Any, Final

from modhub.base.request_ids import current_request_id

JSON_LOGGERS: Final = frozenset({"modhub.requests", "modhub.security", "modhub.statements"})
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


@lru_cache(maxsize=4)
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@lru_cache(maxsize=256)
def _source(level: str, logger: str) -> str:
    return f'"level": "{level}", "logger": {json.dumps(logger)}'


def line_head(created: float, level: str, logger: str) -> str:
    """The beginning of a line: ``{``, time, level and logger."""
    seconds = int(created)
    return f'{{"time": "{_to_the_second(seconds)}.{int((created - seconds) * 1000):03d}Z", {_source(level, logger)}'


class JsonLineFormatter(logging.Formatter):
    """One JSON object per line: ``time`` (UTC), ``level``, ``logger``, the request's ``id`` if any, then ``message``.

    A message that is an object itself takes the place of ``message``. A traceback is a field too, so that a record is
    always one line.
    """

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one JSON object without line breaks."""
        head = line_head(record.created, record.levelname, record.name)
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
