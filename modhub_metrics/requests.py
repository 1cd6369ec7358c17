"""Counts requests and measures their time and bodies, by the kind of address."""

import re
from collections.abc import Callable
from time import perf_counter
from types import NoneType
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram
from pyramid_retry import is_error_retryable

from modhub.base.metrics import EventCounter, LabelValues
from modhub.base.service_registry import find_service
from modhub.http.request import Request

COUNTED_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds in seconds."""
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class _Series(NamedTuple):
    """What one request adds to."""

    requests: Counter
    seconds: Histogram
    received: Counter
    sent: Counter


class RequestMetrics:
    """The metrics of one application's requests.

    ``kind`` is the class of the resource (``api_mod``, ``site_file``), never part of an address; ``none`` if the
    request was rejected before its resource was found.
    """

    def __init__(self, collectors: CollectorRegistry) -> None:
        self._requests = Counter("modhub_requests", "Requests.", ("kind", "method", "status"), registry=collectors)
        self._seconds = Histogram(
            "modhub_request_seconds",
            "Seconds until the response was ready to be sent.",
            ("kind", "method"),
            registry=collectors,
            buckets=BUCKETS,
        )
        self._received = Counter(
            "modhub_request_body_bytes", "Bytes of request bodies.", ("kind",), registry=collectors
        )
        self._sent = Counter("modhub_response_body_bytes", "Bytes of response bodies.", ("kind",), registry=collectors)
        self._retries = Counter("modhub_request_retries", "Requests repeated after a conflict.", registry=collectors)
        self.limits_hit = EventCounter("body_bytes")
        self._series: dict[tuple[type, bool, str, int], _Series] = {}

    def retry(self) -> None:
        """Count an attempt that is repeated."""
        self._retries.inc()

    def count(self, request: Request, status: int, sent: int, seconds: float) -> None:
        """Count a request that got its response."""
        environ = request.environ
        method = environ["REQUEST_METHOD"]
        method = method if method in COUNTED_METHODS else "other"
        key = request.resource_type, request.is_api, method, status
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = self._make_series(*key)
        series.requests.inc()
        series.seconds.observe(seconds)
        if status == 413:
            self.limits_hit.add("body_bytes")
        received = environ.get("CONTENT_LENGTH") or "0"
        if received != "0" and received.isdecimal():
            series.received.inc(int(received))
        if sent and method != "HEAD":
            series.sent.inc(sent)

    def _make_series(self, resource: type, is_api: bool, method: str, status: int) -> "_Series":
        """Look the series up once: their library takes microseconds for each."""
        if resource is NoneType:
            kind = "none"
        else:
            name = _WORD.sub("_", resource.__name__.removesuffix("Resource")).lower()
            kind = f"{'api' if is_api else 'site'}_{name}"
        return _Series(
            self._requests.labels(kind, method, str(status)),
            self._seconds.labels(kind, method),
            self._received.labels(kind),
            self._sent.labels(kind),
        )


def limits_hit(registry: Any) -> dict[LabelValues, float]:
    """The limits that only their status reveals."""
    return find_service(registry, RequestMetrics).limits_hit.counts()


def metrics_tween_factory(handler: Callable[[Request], Any], registry: Any) -> Callable[[Request], Any]:
    """Return the tween that counts and times requests, for Pyramid."""
    metrics = find_service(registry, RequestMetrics)

    def metrics_tween(request: Request) -> Any:
        started_at = perf_counter()
        try:
            response = handler(request)
        except Exception as error:
            if is_error_retryable(request, error):
                metrics.retry()
            else:
                metrics.count(request, 500, 0, perf_counter() - started_at)
            raise
        failure = getattr(request, "exception", None)
        if failure is not None and is_error_retryable(request, failure):
            metrics.retry()
        elif response.status_int != 100:
            # 100 only says that the application wants the body.
            metrics.count(request, response.status_int, response.content_length or 0, perf_counter() - started_at)
        return response

    return metrics_tween
