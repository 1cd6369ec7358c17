"""How fast bytes pass, counted over the last seconds: no lump at the beginning buys a silence afterwards."""

import math
from collections import deque

RECENT_SECONDS = 5.0
"""A connection that has kept the least rate for so long makes progress."""


class TransferProgress:
    """The bytes of one body, or of one answer; ``count`` is always the number since the connection began."""

    def __init__(self, began: float, count: int = 0) -> None:
        self.began = self._kept_at = began
        self._marks = deque([(began, count)])

    def mark(self, now: float, count: int, least: float, keep: float) -> None:
        """Note what has passed; ``least`` bytes a second are progress, ``keep`` seconds are remembered."""
        if self.rate(now, count, RECENT_SECONDS) >= least:
            self._kept_at = now
        self._marks.append((now, count))
        while len(self._marks) > 1 and self._marks[1][0] <= now - keep:
            self._marks.popleft()

    def rate(self, now: float, count: int, seconds: float) -> float:
        """Bytes a second over the last ``seconds``, or since the beginning when that is nearer."""
        earlier = (mark for mark in reversed(self._marks) if mark[0] <= now - seconds)
        at, before = next(earlier, self._marks[0])
        return (count - before) / max(now - at, 1.0)

    def behind_since(self, now: float, count: int, least: float) -> float:
        """Since when fewer than ``least`` bytes a second pass; infinite: they do pass."""
        return math.inf if self.rate(now, count, RECENT_SECONDS) >= least else self._kept_at
