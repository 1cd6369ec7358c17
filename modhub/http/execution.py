"""The execution policy: what stands around all tweens, and around the answer itself on its way to the server.

Whatever fails out here is answered by us like any other failure, and the access log says what was answered.
"""

import json
import logging
import secrets
import sys
import time
from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid_retry import RetryableExecutionPolicy

from modhub.http.error_views import internal_error_view
from modhub.http.headers import REQUEST_ID, make_header_rules
from modhub.request import Request

log = logging.getLogger("modhub.requests")


def attempts(request: Request) -> int:
    """How often a request is tried while others are in its way: reading needs no second try."""
    return 1 if request.is_safe else 3


def execution_policy(retrying: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``retrying``, a policy that makes the answer, with the last resort and the access log around it."""

    def execute(environ: dict[str, Any], router: Any) -> Any:
        started = time.perf_counter()
        environ[REQUEST_ID] = secrets.token_hex(8)
        try:
            response = retrying(environ, router)
        except Exception as error:  # noqa: BLE001 - the last resort
            response = server_error_response(environ, router, error)

        def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            answered = [500]

            def begin(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
                for _, value in headers:
                    # A server would find out when it writes them, too late for us to answer.
                    value.encode("latin-1")
                given = start_response(status, headers, *([exc_info] if exc_info else []))
                answered[0] = int(status[:3])
                return given

            try:
                return _sent(response, environ, router, begin)
            except BaseException:
                answered[0] = 500
                raise
            finally:
                # Asked at the end of a head, the application says that it wants the body: the answer is still to come.
                if answered[0] != 100 and log.isEnabledFor(logging.INFO):
                    log.info("%s", _line(environ, answered[0], time.perf_counter() - started))

        return answer

    return execute


def _sent(response: Any, environ: dict[str, Any], router: Any, begin: Callable[..., Any]) -> Any:
    try:
        return response(environ, begin)
    except Exception as error:  # noqa: BLE001 - the last resort
        told = sys.exc_info()
        instead = server_error_response(environ, router, error)
        return instead(environ, lambda status, headers: begin(status, headers, told))


def server_error_response(environ: dict[str, Any], router: Any, error: Exception) -> Any:
    """The answer for what failed where no view for exceptions sees it."""
    with router.request_context(environ) as request:
        try:
            response = internal_error_view(error, request)
            make_header_rules(router.registry).finish(request, response)
            return response
        finally:
            router.finish_request(request)


def _line(environ: dict[str, Any], status: int, seconds: float) -> str:
    """One JSON object, control characters escaped (T-D11). The query may hold secrets: left out."""
    return json.dumps(
        {
            "id": environ[REQUEST_ID],
            "method": environ["REQUEST_METHOD"],
            "path": environ.get("PATH_INFO", "").encode("latin-1", "replace").decode("utf-8", "replace")[:500],
            "status": status,
            "ms": round(seconds * 1000, 2),
            "caller": environ.get("REMOTE_ADDR"),
        }
    )


def includeme(config: Configurator) -> None:
    """The policy; not by ``pyramid_retry``'s own includeme, which would set its policy alone."""
    config.set_execution_policy(execution_policy(RetryableExecutionPolicy(3, attempts)))
