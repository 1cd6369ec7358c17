"""The execution policy: runs around all tweens, and around sending the response to the server.

Failures out here get the same response as any other, and the access log records the status that was sent.
"""

import sys
import time
from collections.abc import Callable
from random import getrandbits
from typing import Any

from pyramid.config import Configurator
from pyramid_retry import RetryableExecutionPolicy

from modhub.http.access_log import log_request
from modhub.http.error_views import internal_error_view
from modhub.http.headers import make_header_rules
from modhub.http.request_ids import REQUEST_ID, current_request_id
from modhub.http.response_cache import CachedResponse, Key, ResponseCache
from modhub.metrics import CountResend
from modhub.request import Request
from modhub.service_registry import find_optional_service


def attempts(request: Request) -> int:
    """How often a request is tried in case of conflicts: reads need no second try."""
    return 1 if request.is_safe else 3


def execution_policy(retry_policy: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wraps ``retry_policy`` with the last-resort error handler and the access log."""

    def execute(environ: dict[str, Any], router: Any) -> Any:
        started_at = time.perf_counter()
        # It only has to be unique: the system's random bytes would give the interpreter away.
        environ[REQUEST_ID] = request_id = f"{getrandbits(64):016x}"
        current_request_id.set(request_id)
        cache = find_optional_service(router.registry, ResponseCache)
        key = None if cache is None else cache.key_of(environ)
        if cache is not None and key is not None and (cached := _find(cache, key)) is not None:
            return _cached_sender(cached, started_at, cached.count)
        try:
            response = retry_policy(environ, router)
            if cache is not None and key is not None and (cached := cache.add(key, response)) is not None:
                return _cached_sender(cached, started_at)
        except Exception as error:  # noqa: BLE001 - the last resort
            response = server_error_response(environ, router, error)

        def send_response(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            status_sent = [500]

            def logged_start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
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
                # 100 only says that the application wants the body: the final response is still to come.
                if status_sent[0] != 100:
                    log_request(environ, status_sent[0], time.perf_counter() - started_at)

        return send_response

    return execute


def _find(cache: ResponseCache, key: Key) -> CachedResponse | None:
    try:
        return cache.find(key)
    except Exception:  # noqa: BLE001 - the database fails: the view will, too, and the error gets its response
        return None


def _cached_sender(
    cached: CachedResponse, started_at: float, count: CountResend | None = None
) -> Callable[[Any, Any], Any]:
    """Sends the response; ``count`` hears of it if no tween has seen this request."""

    def send_cached(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        status, headers, body = cached.to_wsgi(environ)
        start_response(status, headers)
        seconds = time.perf_counter() - started_at
        log_request(environ, int(status[:3]), seconds)
        if count is not None:
            count(environ, int(status[:3]), sum(map(len, body)), seconds)
        return body

    return send_cached


def _start_sending(response: Any, environ: dict[str, Any], router: Any, start_response: Callable[..., Any]) -> Any:
    try:
        return response(environ, start_response)
    except Exception as error:  # noqa: BLE001 - the last resort
        exc_info = sys.exc_info()
        error_response = server_error_response(environ, router, error)
        return error_response(environ, lambda status, headers: start_response(status, headers, exc_info))


def server_error_response(environ: dict[str, Any], router: Any, error: Exception) -> Any:
    """The response for an error that no exception view can see."""
    with router.request_context(environ) as request:
        try:
            response = internal_error_view(error, request)
            make_header_rules(router.registry).finish(request, response)
            return response
        finally:
            router.finish_request(request)


def includeme(config: Configurator) -> None:
    """Set the policy. ``pyramid_retry``'s own includeme is not used: it would set its policy only."""
    config.set_execution_policy(execution_policy(RetryableExecutionPolicy(3, attempts)))
