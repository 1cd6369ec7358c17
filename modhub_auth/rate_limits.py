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
    limit: int


def rate_counter(purpose: str, key: str, limit: int) -> RateCounter:
    """The counter of ``purpose`` for ``key``, which takes ``most`` tries in the window."""
    counter_key = f"{purpose}\0{key}".encode("utf-8", "surrogatepass")
    return RateCounter(purpose, hashlib.sha256(counter_key).hexdigest(), limit)


def caller_of(request: Any) -> str:
    """Who calls: the peer address that the server vouches for, of IPv6 the /64 (C-LIM-1, C-LIM-7)."""
    peer: str = request.environ.get("REMOTE_ADDR") or ""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)


def rate_limit_error(seconds: float) -> ApiError:
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
            wait = self._seconds_to_wait(session, counters, now())
            if wait is None:
                _insert(session, counters, Slot(), settled=True)
        if wait is not None:
            raise _rate_limited(counters, wait)

    def allows(self, session: Session, counters: Sequence[RateCounter]) -> bool:
        """As :meth:`count` within the caller's transaction; False instead of a refusal."""
        wait = self._seconds_to_wait(session, counters, now())
        if wait is None:
            _insert(session, counters, Slot(), settled=True)
        return wait is None

    @contextmanager
    def attempt(self, counters: Sequence[RateCounter]) -> Iterator[Slot]:
        """A try: it has its place for the length of the block, and leaves it taken when it says that it failed.

        429 when a counter is full of failures; 503 when it is full of tries whose end is not known in five seconds.
        """
        slot = Slot()
        deadline = time.monotonic() + SLOT_WAIT_SECONDS
        while not self._take_slot(counters, slot):
            if time.monotonic() >= deadline:
                raise busy()
            time.sleep(SLOT_POLL_SECONDS)
        try:
            yield slot
        finally:
            self._settle(slot)

    def purge(self, session: Session) -> None:
        """Forget what lies before the window."""
        session.execute(delete(Attempt).where(Attempt.at <= now() - self._window))

    def _take_slot(self, counters: Sequence[RateCounter], slot: Slot) -> bool:
        with self._databases.write_session.begin() as session:
            moment = now()
            wait = self._seconds_to_wait(session, counters, moment)
            has_room = wait is None and all(self._has_room(session, counter, moment) for counter in counters)
            if has_room:
                _insert(session, counters, slot, settled=False)
        if wait is not None:
            raise _rate_limited(counters, wait)
        return has_room

    def _settle(self, slot: Slot) -> None:
        in_slot = Attempt.place == slot.name
        with self._databases.write_session.begin() as session:
            session.execute(
                update(Attempt).where(in_slot).values(settled=True) if slot.failed else delete(Attempt).where(in_slot)
            )

    def _in_window(self, counter: RateCounter, moment: datetime) -> tuple[Any, ...]:
        return Attempt.counter == counter.name, Attempt.at > moment - self._window

    def _has_room(self, session: Session, counter: RateCounter, moment: datetime) -> bool:
        in_window = select(func.count()).select_from(Attempt).where(*self._in_window(counter, moment))
        return (session.scalar(in_window) or 0) < counter.limit

    def _seconds_to_wait(self, session: Session, counters: Sequence[RateCounter], moment: datetime) -> float | None:
        """The seconds until there is room in every counter; None when there is. The counters are locked by it."""
        _lock(session, counters)
        _move_future_attempts(session, counters, moment)
        waits = []
        for counter in counters:
            settled = Attempt.settled | (Attempt.at <= moment - SLOT_ABANDONED)
            # The attempt that must leave the window before there is room for another.
            statement = select(Attempt.at).where(*self._in_window(counter, moment), settled)
            blocking_at = session.scalar(statement.order_by(Attempt.at.desc()).offset(counter.limit - 1).limit(1))
            if blocking_at is not None:
                waits.append((blocking_at + self._window - moment).total_seconds())
        return max(waits, default=None)


def _rate_limited(counters: Sequence[RateCounter], wait: float) -> ApiError:
    log_event("limited", counter=counters[0].purpose)
    return rate_limit_error(wait)


def _move_future_attempts(session: Session, counters: Iterable[RateCounter], moment: datetime) -> None:
    """Tries from the future are of now: a clock that was set back neither forgives nor locks out (T-F7)."""
    names = [counter.name for counter in counters]
    in_future = (Attempt.counter.in_(names), Attempt.at > moment + RATE_CLOCK_SKEW)
    bulk.execute_bulk(session, update(Attempt).where(*in_future).values(at=moment))


def _lock(session: Session, counters: Iterable[RateCounter]) -> None:
    """Nobody else looks at these counters until the transaction ends. SQLite has one writer anyway."""
    if session.get_bind().dialect.name != "postgresql":
        return
    for key in sorted(int.from_bytes(bytes.fromhex(counter.name[:16]), signed=True) for counter in counters):
        session.execute(select(func.pg_advisory_xact_lock(key)))


def _insert(session: Session, counters: Iterable[RateCounter], slot: Slot, *, settled: bool) -> None:
    moment = now()
    rows = [{"counter": counter.name, "place": slot.name, "at": moment, "settled": settled} for counter in counters]
    session.execute(insert(Attempt), rows)
