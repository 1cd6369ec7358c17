"""The numbers of the public report. Nobody is in them, and a number below three is not told (C-TRP-2).

There are no sums beside them: they would tell the numbers that are left out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

import msgspec
from sqlalchemy import BigInteger, func, select, type_coerce
from sqlalchemy.orm import Session

from modhub.db import now
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Ground, Notice

MONTHS: Final = 24
"""The last months that the report has, the present one among them."""
LEAST: Final = 3
"""The least number that is told."""
FEW: Final = "<3"
"""What is told in its place, also for 0."""
_DAY: Final = 86_400_000_000
"""In microseconds, as moments are stored."""

Cell = int | str
"""A number, or `FEW`."""


class AppealsOfMonth(msgspec.Struct):
    """Appeals: those that came in, and how those ended that were decided in the month."""

    received: Cell
    upheld: Cell
    reversed: Cell


class MonthReport(msgspec.Struct, rename="camel"):
    """One month, in UTC."""

    month: str
    """As ``2026-11``."""
    notices: dict[str, Cell]
    """By ground."""
    decisions: dict[str, Cell]
    """By kind; ``automatic`` are those among them that no person made."""
    median_hours: float | None
    """From the opening of a case to its first decision by a person; None if there were fewer than three."""
    appeals: AppealsOfMonth


class TransparencyReport(msgspec.Struct):
    """``GET /Modhub/transparency.json``: the newest month first."""

    months: list[MonthReport]


def read_report(session: Session, moment: datetime | None = None) -> TransparencyReport:
    """The report as it is now: of the months since the first notice or decision, at most `MONTHS`."""
    moment = moment or now()
    months = list(_months_until(moment))
    since = datetime.strptime(f"{months[-1]}-01", "%Y-%m-%d").replace(tzinfo=UTC)
    notices = _count(session, since, Notice.created_at, Notice.ground)
    decisions = _count(session, since, Decision.decided_at, Decision.kind)
    automatic = _count(session, since, Decision.decided_at, Decision.automatic)
    received = _count(session, since, Appeal.created_at, Appeal.id.is_not(None))
    outcomes = _count(session, since, Appeal.decided_at, Appeal.outcome)
    hours = _hours(session, since)
    seen = {month for counts in (notices, decisions, received, outcomes) for month, _ in counts}
    first = min(seen, default=months[0])
    return TransparencyReport(
        [
            MonthReport(
                month=month,
                notices={ground.value: _cell(notices[month, ground.value]) for ground in Ground},
                decisions={kind.value: _cell(decisions[month, kind.value]) for kind in DecisionKind}
                | {"automatic": _cell(automatic[month, True])},
                median_hours=round(median(hours[month]), 1) if len(hours.get(month, ())) >= LEAST else None,
                appeals=AppealsOfMonth(
                    _cell(received[month, True]),
                    _cell(outcomes[month, "upheld"]),
                    _cell(outcomes[month, "reversed"]),
                ),
            )
            for month in months
            if month >= first
        ]
    )


def _cell(count: int) -> Cell:
    return count if count >= LEAST else FEW


def _months_until(moment: datetime) -> Iterator[str]:
    """The present month, then those before it."""
    year, month = moment.astimezone(UTC).year, moment.astimezone(UTC).month
    for index in range(MONTHS):
        whole = year * 12 + month - 1 - index
        yield f"{whole // 12:04}-{whole % 12 + 1:02}"


def _day_of(column: Any) -> Any:
    return type_coerce(column, BigInteger) // _DAY


def _month_of(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY // 1_000_000, UTC).strftime("%Y-%m")


def _count(session: Session, since: datetime, moment: Any, value: Any) -> Counter[tuple[str, Any]]:
    """How many rows there are by month and value. Grouped by day: no database knows months of our moments."""
    day = _day_of(moment)
    counts: Counter[tuple[str, Any]] = Counter()
    for number, of_value, count in session.execute(
        select(day, value, func.count()).where(moment >= since).group_by(day, value)
    ):
        counts[_month_of(number), of_value] += count
    return counts


def _hours(session: Session, since: datetime) -> Mapping[str, list[float]]:
    """How long the cases took that a person decided, by the month of the decision."""
    hours: dict[str, list[float]] = {}
    rows = session.execute(select(Case.opened_at, Case.decided_at).where(Case.decided_at >= since))
    for opened_at, decided_at in rows:
        if decided_at is not None:
            month = decided_at.astimezone(UTC).strftime("%Y-%m")
            hours.setdefault(month, []).append((decided_at - opened_at).total_seconds() / 3600)
    return hours
