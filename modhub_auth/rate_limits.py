"""How often something may be tried (C-LIM-1, C-LIM-7; T-C6): counters in the database, shared by all processes.

A try takes its place in every one of its counters at once, before anything is checked, in a transaction of its own: a
burst over several processes never gets more tries than the counters have. A place that is taken is *settled* once the
try has failed; a try that succeeds gives it back.
"""

import hashlib
import math
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any, Final

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import Databases, now
from modhub.errors import ApiError, busy
from modhub.security_log import log_event
from modhub_auth.models import Attempt

SLOT_WAIT_SECONDS: Final = 5.0
SLOT_POLL_SECONDS: Final = 0.05
SLOT_ABANDONED: Final = timedelta(seconds=60)
"""A place that is still not settled then belonged to a process that died: it counts as a failure."""
RATE_CLOCK_SKEW: Final = timedelta(seconds=5)
"""The clocks of two machines may differ by this; a try from later than that is from before the clock was set back."""


@dataclass(frozen=True, slots=True)
class RateCounter:
    """One counter: its name tells nothing of the address or the caller that it is for."""

    purpose: str
    name: str
    most: int


def rate_counter(purpose: str, key: str, most: int) -> RateCounter:
    """The counter of ``purpose`` for ``key``, which takes ``most`` tries in the window."""
    sent = f"{purpose}\0{key}".encode("utf-8", "surrogatepass")
    return RateCounter(purpose, hashlib.sha256(sent).hexdigest(), most)


def caller_of(request: Any) -> str:
    """Who calls: the peer address that the server vouches for, of IPv6 the /64 (C-LIM-1, C-LIM-7)."""
    sent: str = request.environ.get("REMOTE_ADDR") or ""
    try:
        address = ip_address(sent)
    except ValueError:
        return sent
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)


def too_many(seconds: float) -> ApiError:
    """429; ``seconds`` until the next try has a chance."""
    wait = max(1, math.ceil(seconds))
    message = f"Too many attempts; try again in {wait} seconds."
    return ApiError(429, "too_many_attempts", message, headers={"Retry-After": str(wait)}, retryAfterSeconds=wait)


class Slot:
    """The place of one try; whoever holds it says when the try has failed."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(16)
        self.failed = False


class RateLimiter:
    """The counters of one application."""

    def __init__(self, databases: Databases, window: timedelta) -> None:
        self._databases = databases
        self._window = window

    def count(self, counters: Sequence[RateCounter]) -> None:
        """Count a call, whatever comes of it. 429 when one of the counters is full; then none of them rises."""
        with self._databases.write_session.begin() as session:
            wait = self._wait(session, counters, now())
            if wait is None:
                _insert(session, counters, Slot(), settled=True)
        if wait is not None:
            raise _limited(counters, wait)

    def allows(self, session: Session, counters: Sequence[RateCounter]) -> bool:
        """As :meth:`count` within the caller's transaction; False instead of a refusal."""
        wait = self._wait(session, counters, now())
        if wait is None:
            _insert(session, counters, Slot(), settled=True)
        return wait is None

    @contextmanager
    def attempt(self, counters: Sequence[RateCounter]) -> Iterator[Slot]:
        """A try: it has its place for the length of the block, and leaves it taken when it says that it failed.

        429 when a counter is full of failures; 503 when it is full of tries whose end is not known in five seconds.
        """
        place = Slot()
        deadline = time.monotonic() + SLOT_WAIT_SECONDS
        while not self._take(counters, place):
            if time.monotonic() >= deadline:
                raise busy()
            time.sleep(SLOT_POLL_SECONDS)
        try:
            yield place
        finally:
            self._settle(place)

    def purge(self, session: Session) -> None:
        """Forget what lies before the window."""
        session.execute(delete(Attempt).where(Attempt.at <= now() - self._window))

    def _take(self, counters: Sequence[RateCounter], place: Slot) -> bool:
        with self._databases.write_session.begin() as session:
            moment = now()
            wait = self._wait(session, counters, moment)
            free = wait is None and all(self._has_room(session, one, moment) for one in counters)
            if free:
                _insert(session, counters, place, settled=False)
        if wait is not None:
            raise _limited(counters, wait)
        return free

    def _settle(self, place: Slot) -> None:
        held = Attempt.place == place.name
        with self._databases.write_session.begin() as session:
            session.execute(
                update(Attempt).where(held).values(settled=True) if place.failed else delete(Attempt).where(held)
            )

    def _current(self, one: RateCounter, moment: datetime) -> tuple[Any, ...]:
        return Attempt.counter == one.name, Attempt.at > moment - self._window

    def _has_room(self, session: Session, one: RateCounter, moment: datetime) -> bool:
        taken = select(func.count()).select_from(Attempt).where(*self._current(one, moment))
        return (session.scalar(taken) or 0) < one.most

    def _wait(self, session: Session, counters: Sequence[RateCounter], moment: datetime) -> float | None:
        """The seconds until there is room in every counter; None when there is. The counters are locked by it."""
        _lock(session, counters)
        _bring_back(session, counters, moment)
        waits = []
        for one in counters:
            settled = Attempt.settled | (Attempt.at <= moment - SLOT_ABANDONED)
            # The try that has to leave the window before there is room for another.
            statement = select(Attempt.at).where(*self._current(one, moment), settled)
            last = session.scalar(statement.order_by(Attempt.at.desc()).offset(one.most - 1).limit(1))
            if last is not None:
                waits.append((last + self._window - moment).total_seconds())
        return max(waits, default=None)


def _limited(counters: Sequence[RateCounter], wait: float) -> ApiError:
    log_event("limited", counter=counters[0].purpose)
    return too_many(wait)


def _bring_back(session: Session, counters: Iterable[RateCounter], moment: datetime) -> None:
    """Tries from the future are of now: a clock that was set back neither forgives nor locks out (T-F7)."""
    names = [one.name for one in counters]
    later = (Attempt.counter.in_(names), Attempt.at > moment + RATE_CLOCK_SKEW)
    bulk.execute_bulk(session, update(Attempt).where(*later).values(at=moment))


def _lock(session: Session, counters: Iterable[RateCounter]) -> None:
    """Nobody else looks at these counters until the transaction ends. SQLite has one writer anyway."""
    if session.get_bind().dialect.name != "postgresql":
        return
    for key in sorted(int.from_bytes(bytes.fromhex(one.name[:16]), signed=True) for one in counters):
        session.execute(select(func.pg_advisory_xact_lock(key)))


def _insert(session: Session, counters: Iterable[RateCounter], place: Slot, *, settled: bool) -> None:
    moment = now()
    rows = [{"counter": one.name, "place": place.name, "at": moment, "settled": settled} for one in counters]
    session.execute(insert(Attempt), rows)
