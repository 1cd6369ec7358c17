"""Transfer rates over the last seconds, so that a burst at the beginning does not excuse a silence afterwards."""

import math
from collections import deque

RECENT_SECONDS = 5.0
"""The window over which a connection must keep the minimum rate to count as making progress."""


class TransferProgress:
    """The bytes of one body, or of one response; ``count`` is always the number since the connection began."""

    def __init__(self, began: float, count: int = 0) -> None:
        self.began = self._on_pace_at = began
        self._marks = deque([(began, count)])

    def mark(self, now: float, count: int, min_rate: float, window: float) -> None:
        """Record ``count``; ``min_rate`` is in bytes a second, marks older than ``window`` seconds are dropped."""
        if self.rate(now, count, RECENT_SECONDS) >= min_rate:
            self._on_pace_at = now
        self._marks.append((now, count))
        while len(self._marks) > 1 and self._marks[1][0] <= now - window:
            self._marks.popleft()

    def rate(self, now: float, count: int, seconds: float) -> float:
        """Bytes a second over the last ``seconds``, or since the beginning if that is more recent."""
        earlier = (mark for mark in reversed(self._marks) if mark[0] <= now - seconds)
        marked_at, marked_count = next(earlier, self._marks[0])
        return (count - marked_count) / max(now - marked_at, 1.0)

    def behind_since(self, now: float, count: int, min_rate: float) -> float:
        """When the rate fell below ``min_rate`` bytes a second; infinite while it is kept."""
        return math.inf if self.rate(now, count, RECENT_SECONDS) >= min_rate else self._on_pace_at
