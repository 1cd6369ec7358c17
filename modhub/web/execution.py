"""The execution policy: runs around all tweens, and around sending the response to the server.

Failures out here get the same response as any other, and the access log (logger ``modhub.requests``), one JSON object
per request, records the status that was sent.
"""

import logging
import sys
import time
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as _quote
from random import getrandbits
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.router import default_execution_policy
from pyramid_retry import RetryableExecutionPolicy

from modhub.base.peers import note_caller
from modhub.base.request_ids import REQUEST_ID, current_request_id
from modhub.web.error_views import internal_error_view
from modhub.web.headers import HeaderRules
from modhub.web.request import SAFE_METHODS

log = logging.getLogger("modhub.requests")
_MAX_PATH: Final = 500
# Names, because the annotations of inner functions are evaluated in each request.
_Environ = dict[str, Any]
_Headers = list[tuple[str, str]]
_StartResponse = Callable[..., Any]


def execution_policy(retry_policy: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wraps ``retry_policy`` with the last-resort error handler and the access log."""

    def execute(environ: _Environ, router: Any) -> Any:
        started_at = time.perf_counter()
        # It only has to be unique: the system's random bytes would give the interpreter away.
        environ[REQUEST_ID] = request_id = f"{getrandbits(64):016x}"
        current_request_id.set(request_id)
        note_caller(environ)
        try:
            # Reads meet no conflicts: Pyramid's own policy tries once.
            policy = default_execution_policy if environ["REQUEST_METHOD"] in SAFE_METHODS else retry_policy
            response = policy(environ, router)
        except Exception as error:  # noqa: BLE001 - the last resort
            response = server_error_response(environ, router, error)

        def send_response(environ: _Environ, start_response: _StartResponse) -> Any:
            status_sent = [500]

            def logged_start_response(status: str, headers: _Headers, exc_info: Any = None) -> Any:
                for _, value in headers:
                    # The server would fail when it writes them, too late for an error response.
                    value.encode("latin-1")
                write = start_response(status, headers, *([exc_info] if exc_info else []))
                status_sent[0] = int(status[:3])
                return write

            try:
                return _start_sending(response, environ, router, logged_start_response)
            except BaseException:
                status_sent[0] = 500
                raise
            finally:
                # 100 and 102 only tell the server how to go on: the final response is still to come.
                if status_sent[0] >= 200:
                    log_request(environ, status_sent[0], time.perf_counter() - started_at)

        return send_response

    return execute


def _start_sending(response: Any, environ: _Environ, router: Any, start_response: _StartResponse) -> Any:
    try:
        return response(environ, start_response)
    except Exception as error:  # noqa: BLE001 - the last resort
        exc_info = sys.exc_info()
        error_response = server_error_response(environ, router, error)
        return error_response(environ, lambda status, headers: start_response(status, headers, exc_info))


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


def server_error_response(environ: dict[str, Any], router: Any, error: Exception) -> Any:
    """The response for an error that no exception view can see."""
    with router.request_context(environ) as request:
        try:
            response = internal_error_view(error, request)
            HeaderRules(router.registry).finish(request, response)
            return response
        finally:
            router.finish_request(request)


def includeme(config: Configurator) -> None:
    """Set the policy. ``pyramid_retry``'s own includeme is not used: it would set its policy only."""
    config.set_execution_policy(execution_policy(RetryableExecutionPolicy(3)))
