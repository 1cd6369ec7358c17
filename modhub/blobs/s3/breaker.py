"""A circuit breaker: while a store is down, calls fail at once."""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final

from modhub.blobs.store import StoreTrouble

FAILURES: Final = 2
"""Consecutive failed calls, each with its retries, after which the store counts as down."""
REST_SECONDS: Final = 5.0
"""Seconds without calls to a store that is down; then one call tries again."""


class CircuitBreaker:
    """Counts failed calls to one endpoint."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._resting_until = 0.0
        self._lock = Lock()

    def check(self) -> None:
        """Raise :class:`StoreTrouble` while the store is down; let one call through every `REST_SECONDS`."""
        with self._lock:
            if self._failures < FAILURES:
                return
            now = self._clock()
            if now < self._resting_until:
                raise StoreTrouble("it did not answer a moment ago")
            # If this call never reports its result, the next one may try after the same time.
            self._resting_until = now + REST_SECONDS

    def failed(self) -> None:
        """Count a call without a response, or with a 5xx."""
        with self._lock:
            self._failures += 1
            self._resting_until = self._clock() + REST_SECONDS

    def succeeded(self) -> None:
        """Reset the count: the store responded."""
        with self._lock:
            self._failures = 0
