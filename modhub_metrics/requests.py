"""Counts requests and measures their time, by the kind of address."""

import re
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from types import NoneType
from typing import Any, Final

from prometheus_client import Counter, Histogram
from pyramid_retry import is_error_retryable

from modhub.base.metrics import LIMITS_HIT
from modhub.web.request import Request

COUNTED_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
REQUESTS: Final = Counter("modhub_requests", "Requests.", ["kind", "method", "status"])
REQUEST_SECONDS: Final = Histogram(
    "modhub_request_seconds",
    "Seconds until the response was ready to be sent.",
    ["kind", "method"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(1000)
def kind_of(resource: type, is_api: bool) -> str:
    """The class of the resource (``api_mod``, ``site_file``), never part of an address.

    ``none`` if the request was rejected before its resource was found.
    """
    if resource is NoneType:
        return "none"
    name = _WORD.sub("_", resource.__name__.removesuffix("Resource")).lower()
    return f"{'api' if is_api else 'site'}_{name}"


def count(request: Request, status: int, seconds: float) -> None:
    """Count a request that got its response."""
    method = request.environ["REQUEST_METHOD"]
    method = method if method in COUNTED_METHODS else "other"
    kind = kind_of(request.resource_type, request.is_api)
    REQUESTS.labels(kind, method, status).inc()
    REQUEST_SECONDS.labels(kind, method).observe(seconds)
    if status == 413:
        LIMITS_HIT.labels("body_bytes").inc()


def metrics_tween_factory(handler: Callable[[Request], Any], _registry: Any) -> Callable[[Request], Any]:
    """Return the tween that counts and times requests, for Pyramid. Attempts that are repeated do not count."""

    def metrics_tween(request: Request) -> Any:
        started_at = perf_counter()
        try:
            response = handler(request)
        except Exception as error:
            if not is_error_retryable(request, error):
                count(request, 500, perf_counter() - started_at)
            raise
        failure = getattr(request, "exception", None)
        is_repeated = failure is not None and is_error_retryable(request, failure)
        # 100 and 102 only tell the server how to go on.
        if not is_repeated and response.status_int >= 200:
            count(request, response.status_int, perf_counter() - started_at)
        return response

    return metrics_tween
