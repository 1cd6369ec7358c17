"""How far the clocks of two machines may be apart."""

from datetime import timedelta
from typing import Final

from modhub.db import now, to_micros

CLOCK_SKEW: Final = timedelta(seconds=5)
"""The tolerated difference."""
SKEW_MICROS: Final = 5 * 1_000_000
"""The same in microseconds."""


def is_recent(micros: int, life: float) -> bool:
    """Whether this time is at most ``life`` ago, both in microseconds. Numbers, because not every number is a date.

    A time in the future counts as expired: setting the clock back extends nothing.
    """
    return -SKEW_MICROS <= to_micros(now()) - micros <= life
