"""Leases: a worker that must be alone runs in the one process that holds its row of :class:`Lease`.

The holder keeps the lease from round to round and renews it while a round runs. It is taken from a process that has not
renewed it in time: one that was killed, or frozen. Such a process may wake up in the middle of a round, so each of its
transactions locks the lease before it commits, and is rolled back if another process holds it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, String, literal_column, select, text, type_coerce, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from modhub.db import Base, Databases, Timestamp, bulk

LEASE_SECONDS: Final = 60.0
"""How long a holder that does not renew its lease keeps it, beyond the pause between two rounds."""
CLOCKS: Final = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}
"""The database's clock in microseconds since 1970: the clocks of machines differ."""
_CREATE: Final = text(
    "INSERT INTO core_lease (name, holder, until) VALUES (:name, '', 0) ON CONFLICT (name) DO NOTHING"
)
_held: ContextVar["HeldLease | None"] = ContextVar("modhub lease", default=None)


class Lease(Base):
    """The worker ``name`` runs in the process ``holder`` only, ``until`` then by the database's clock."""

    __tablename__ = "core_lease"
    __table_args__ = {"info": {"in_backup": False}}

    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    holder: Mapped[str] = mapped_column(String(32))
    until: Mapped[datetime] = mapped_column(Timestamp)


class LeaseLost(Exception):
    """Another process has taken the lease; the transaction that noticed is rolled back."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The lease of the worker ``name`` in the hands of a process; ``seconds`` is how long it is taken for."""

    databases: Databases
    name: str
    holder: str
    seconds: float

    def take(self) -> bool:
        """Take or keep the lease; False while another process has it, which is seen without a write."""
        clock = _clock(self.databases)
        # One much further in the future than any process takes it for is of a clock that was set back.
        until = type_coerce(Lease.until, BigInteger)
        is_free = (until <= clock) | (until > clock + 2 * self._micros) | (Lease.holder == self.holder)
        with self.databases.readonly_session() as session:
            row = session.execute(select(is_free).where(Lease.name == self.name)).one_or_none()
        if row is not None and not row[0]:
            return False
        with self.databases.write_session.begin() as session:
            if row is None:
                session.execute(_CREATE, {"name": self.name})
            taken = update(Lease).where(Lease.name == self.name, is_free)
            values = {"holder": self.holder, "until": clock + self._micros}
            return bulk.execute_bulk(session, taken.values(values)) == 1

    @contextmanager
    def working(self, renewed: dict[str, "HeldLease"]) -> Iterator[None]:
        """Let each transaction of this thread check the lease, which is among the ``renewed`` ones in the meantime."""
        renewed[self.name] = self
        token = _held.set(self)
        try:
            yield
        finally:
            _held.reset(token)
            del renewed[self.name]

    @property
    def _micros(self) -> int:
        return int(self.seconds * 1_000_000)


def _clock(databases: Databases) -> Any:
    return literal_column(CLOCKS[databases.dialect], BigInteger)


def release_leases(databases: Databases, holder: str, working: Iterable[str]) -> None:
    """Let other processes take the leases of this one at once, but not those of rounds that run."""
    idle = update(Lease).where(Lease.holder == holder, Lease.name.not_in(list(working)))
    with databases.write_session.begin() as session:
        bulk.execute_bulk(session, idle.values(until=_clock(databases)))


def expired_seconds(databases: Databases, name: str) -> float | None:
    """How long nobody has had the lease of a worker; None if nobody ever had, negative while somebody has."""
    with databases.readonly_session() as session:
        expired = session.scalar(
            select(_clock(databases) - type_coerce(Lease.until, BigInteger)).where(Lease.name == name)
        )
    return None if expired is None else expired / 1_000_000


def check_lease(session: Session) -> None:
    """Raise :class:`LeaseLost` if the round that commits has lost its lease; other sessions have none."""
    lease = _held.get()
    if lease is None:
        return
    # Locked: nobody can take it before this transaction has ended.
    held = select(Lease.name).where(Lease.name == lease.name, Lease.holder == lease.holder).with_for_update(read=True)
    if session.scalar(held) is None:
        raise LeaseLost(f"another process has taken the lease of {lease.name}")
