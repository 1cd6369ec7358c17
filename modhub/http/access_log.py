"""The access log: one JSON object per request (logger ``modhub.requests``).

With the logging of the shipped inis a line is written at once, without a record: that takes a third of the time.
"""

import logging
import os
import sys
import threading
import time
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Final

from modhub.base.json_lines import JsonLineFormatter, line_head
from modhub.base.request_ids import REQUEST_ID

log = logging.getLogger("modhub.requests")
_MAX_PATH: Final = 500
_STDERR: Final = 2
# What all records have in common. `Logger.info` takes three times as long: it walks the stack for each.
_COMMON: Final = logging.LogRecord(log.name, logging.INFO, __file__, 0, "", None, None, "log_request").__dict__


def log_request(environ: dict[str, Any], status: int, seconds: float) -> None:
    """Log a request, if anybody listens: its id, method, path, status, duration and caller."""
    if not log.isEnabledFor(logging.INFO):
        return
    created = time.time()
    fields = _fields(environ, status, seconds)
    descriptor = _plain_output()
    if descriptor is not None:
        try:
            os.write(descriptor, f"{line_head(created, 'INFO', log.name)}, {fields}}}\n".encode())
        except OSError:
            return  # as logging does it: a full disk stops no request
        return
    record = object.__new__(logging.LogRecord)
    record.__dict__.update(
        _COMMON,
        msg=f"{{{fields}}}",
        created=created,
        msecs=created % 1 * 1000,
        relativeCreated=_COMMON["relativeCreated"] + (created - _COMMON["created"]) * 1000,
        process=os.getpid(),
        thread=threading.get_ident(),
        threadName=threading.current_thread().name,
    )
    log.handle(record)


def _plain_output() -> int | None:
    """The file descriptor of the only handler, if that would write the line as it is, to what needs no buffer."""
    handler = None
    logger: logging.Logger | None = log
    while logger is not None:
        if logger.handlers:
            if handler is not None or len(logger.handlers) > 1:
                return None
            handler = logger.handlers[0]
        logger = logger.parent if logger.propagate else None
    if type(handler) is not logging.StreamHandler or type(handler.formatter) is not JsonLineFormatter:
        return None
    if handler.stream is not sys.__stderr__ or handler.level > logging.INFO or handler.filters or log.filters:
        return None
    return _STDERR


def _fields(environ: dict[str, Any], status: int, seconds: float) -> str:
    """The fields of the JSON object, control characters escaped (T-D11), without the query: it may hold secrets."""
    path = environ.get("PATH_INFO", "")
    if not path.isascii():
        path = path.encode("latin-1", "replace").decode("utf-8", "replace")
    caller = environ.get("REMOTE_ADDR")
    return (
        f'"id": "{environ[REQUEST_ID]}", "method": {_quoted(environ["REQUEST_METHOD"])}, '
        f'"path": {_quoted(path[:_MAX_PATH])}, "status": {status}, "ms": {round(seconds * 1000, 2)}, '
        f'"caller": {"null" if caller is None else _quoted(caller)}'
    )
