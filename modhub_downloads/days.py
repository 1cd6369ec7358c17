"""Days as whole numbers since 1 January 1970, UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

from modhub.db import now

_FIRST: Final = date(1970, 1, 1)
CLOSING_TIME: Final = timedelta(minutes=5)
"""How long after midnight downloads of the day before are still written as those of that day."""


def day_of(moment: datetime) -> int:
    """The day of an aware time."""
    return (moment.astimezone(UTC).date() - _FIRST).days


def date_of(day: int) -> date:
    """The date of a day."""
    return _FIRST + timedelta(days=day)


def last_closed_day() -> int:
    """The newest day that is over."""
    return day_of(now() - CLOSING_TIME) - 1
