"""Log lines of a fault that every request meets: one a minute, not one per request.

With the database away a busy process wrote 200 of them a second. How many requests failed is in the metrics, and which
in the access log.
"""

import logging
from threading import Lock
from time import monotonic
from typing import Final

from modhub.base.metrics import ALARMS

AGAIN_SECONDS: Final = 60.0
_MOST: Final = 1000

_written: dict[tuple[str, str], float] = {}
_lock = Lock()


def log_sometimes(log: logging.Logger, level: int, message: str, *values: object, subject: str = "") -> None:
    """Log a line, unless the same one was logged in the last minute, or one about the same ``subject``."""
    now, line = monotonic(), (log.name, subject or message % values)
    with _lock:
        if now - _written.get(line, -AGAIN_SECONDS) < AGAIN_SECONDS:
            return
        if len(_written) >= _MOST:
            _written.clear()
        _written[line] = now
    log.log(level, message, *values, stacklevel=2)


def log_alarm(log: logging.Logger, message: str, *values: object) -> None:
    """Log, as `log_sometimes`, and count what an operator has to look at: a damaged file, a full disk."""
    ALARMS.inc()
    log_sometimes(log, logging.ERROR, f"ALARM: {message}", *values)
