"""Rate limits (C-LIM-1, C-LIM-7; T-C6): counters in the database, shared by all processes.

An attempt takes a slot in all of its counters at once, before anything is checked, in its own transaction. So a burst
over several processes gets no more attempts than the limit. A slot is *settled* once the attempt has failed; an
attempt that succeeds releases it.
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

from modhub.base.errors import ApiError, busy
from modhub.base.metrics import LIMITS_HIT
from modhub.base.security_log import log_event
from modhub.db import Databases, bulk, now
from modhub_auth.models import Attempt
from modhub_auth.tokens import CLOCK_SKEW

SLOT_WAIT_SECONDS: Final = 5.0
SLOT_POLL_SECONDS: Final = 0.05
SLOT_ABANDONED: Final = timedelta(seconds=60)
"""After this time an unsettled slot belongs to a dead process and counts as a failure."""


@dataclass(frozen=True, slots=True)
class RateCounter:
    """One counter. Its name is a hash that does not reveal the address or caller."""

    purpose: str
    name: str
    limit: int


def rate_counter(purpose: str, key: str, limit: int) -> RateCounter:
    """The counter of ``purpose`` for ``key``, with at most ``limit`` attempts in the window."""
    counter_key = f"{purpose}\0{key}".encode("utf-8", "surrogatepass")
    return RateCounter(purpose, hashlib.sha256(counter_key).hexdigest(), limit)


def caller_of(request: Any) -> str:
    """The caller's address as the server determined it; for IPv6 the /64 network (C-LIM-1, C-LIM-7)."""
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
    """429; ``seconds`` until the next attempt can succeed."""
    wait = max(1, math.ceil(seconds))
    message = f"Too many attempts; try again in {wait} seconds."
    return ApiError(429, "too_many_attempts", message, headers={"Retry-After": str(wait)}, retryAfterSeconds=wait)


class Slot:
    """The slot of one attempt. The caller sets ``failed`` when the attempt fails."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(16)
        self.failed = False


class RateLimiter:
    """Counts the attempts of one application."""

    def __init__(self, databases: Databases, window: timedelta) -> None:
        self._databases = databases
        self._window = window

    def count(self, counters: Sequence[RateCounter]) -> None:
        """Count a call regardless of its outcome. 429 if a counter is full; then none of them is increased."""
        with self._databases.write_session.begin() as session:
            wait = self._count(session, counters)
        if wait is not None:
            raise self._rate_limited(counters, wait)

    def allows(self, session: Session, counters: Sequence[RateCounter]) -> bool:
        """As :meth:`count`, in the caller's transaction and returning False instead of 429."""
        return self._count(session, counters) is None

    def _count(self, session: Session, counters: Sequence[RateCounter]) -> float | None:
        """Increase the counters if all have room, and return None; else the seconds until they have."""
        wait = self._seconds_to_wait(session, counters, now())
        if wait is None:
            _insert(session, counters, Slot(), settled=True)
        return wait

    @contextmanager
    def attempt(self, counters: Sequence[RateCounter]) -> Iterator[Slot]:
        """Hold a slot during the block. It stays taken if the attempt failed.

        429 if a counter is full of failures; 503 if it is full of unfinished attempts for five seconds.
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
        """Delete attempts that are older than the window."""
        session.execute(delete(Attempt).where(Attempt.at <= now() - self._window))

    def _take_slot(self, counters: Sequence[RateCounter], slot: Slot) -> bool:
        with self._databases.write_session.begin() as session:
            moment = now()
            wait = self._seconds_to_wait(session, counters, moment)
            has_room = wait is None and all(self._has_room(session, counter, moment) for counter in counters)
            if has_room:
                _insert(session, counters, slot, settled=False)
        if wait is not None:
            raise self._rate_limited(counters, wait)
        return has_room

    def _rate_limited(self, counters: Sequence[RateCounter], wait: float) -> ApiError:
        log_event("limited", counter=counters[0].purpose)
        LIMITS_HIT.labels(counters[0].purpose).inc()
        return rate_limit_error(wait)

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
        """Lock the counters and return the seconds until all of them have room; None if they have."""
        lock_counters(session, counters)
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


def _move_future_attempts(session: Session, counters: Iterable[RateCounter], moment: datetime) -> None:
    """Move attempts from the future to now, so that setting the clock back neither forgives nor locks out (T-F7)."""
    names = [counter.name for counter in counters]
    in_future = (Attempt.counter.in_(names), Attempt.at > moment + CLOCK_SKEW)
    bulk.execute_bulk(session, update(Attempt).where(*in_future).values(at=moment))


def lock_counters(session: Session, counters: Iterable[RateCounter]) -> None:
    """Lock the counters until the transaction ends. SQLite has only one writer anyway."""
    if session.get_bind().dialect.name != "postgresql":
        return
    for key in sorted(int.from_bytes(bytes.fromhex(counter.name[:16]), signed=True) for counter in counters):
        session.execute(select(func.pg_advisory_xact_lock(key)))


def _insert(session: Session, counters: Iterable[RateCounter], slot: Slot, *, settled: bool) -> None:
    moment = now()
    rows = [{"counter": counter.name, "place": slot.name, "at": moment, "settled": settled} for counter in counters]
    session.execute(insert(Attempt), rows)
