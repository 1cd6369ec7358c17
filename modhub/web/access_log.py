"""The access log: one JSON object per request (logger ``modhub.requests``)."""

import logging
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, Final

from modhub.base.request_ids import REQUEST_ID

log = logging.getLogger("modhub.requests")
_MAX_PATH: Final = 500


def log_request(environ: dict[str, Any], status: int, seconds: float) -> None:
    """Log a request: its id, method, path, status, duration and caller, but no query, which may hold secrets.

    JSON escapes control characters (T-D11).
    """
    if not log.isEnabledFor(logging.INFO):
        return
    path = environ.get("PATH_INFO", "").encode("latin-1", "replace").decode("utf-8", "replace")
    caller = environ.get("REMOTE_ADDR")
    # Only what the caller sends needs an escape. The whole as one object takes twice as long.
    message = (
        f'{{"id": "{environ[REQUEST_ID]}", "method": {_quote(environ["REQUEST_METHOD"])}, '
        f'"path": {_quote(path[:_MAX_PATH])}, "status": {status}, '
        f'"ms": {round(seconds * 1000, 2)}, "caller": {"null" if caller is None else _quote(caller)}}}'
    )
    # `Logger.info` would look for its caller on the stack, which is always this line.
    log.handle(log.makeRecord(log.name, logging.INFO, __file__, 0, message, (), None, "log_request"))
