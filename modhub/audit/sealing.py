"""Sealing: committed entries get their number and digest, so that no writer waits for another.

Entries are sealed in the order of their ids, which may differ from that of their commits. One process seals at a
time, holding the row of :class:`AuditHead`; the others skip.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import delete, select, text, update
from sqlalchemy.orm import Session

from modhub.audit.hashing import FIRST_DIGEST, EntryMac, chained_digest
from modhub.audit.models import AuditEntry, AuditHead, PersonalPart
from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, is_transient, now

SEAL_SECONDS: Final = 5.0
ERASE_SECONDS: Final = 3600.0
_CREATE_HEAD: Final = text(
    "INSERT INTO core_audit_head (id, number, digest) VALUES (1, 0, :digest) ON CONFLICT (id) DO NOTHING"
)
BeginSession = Callable[[], AbstractContextManager[Session]]


def seal_entries(begin: BeginSession, mac: EntryMac) -> int:
    """Seal all committed entries and return their number. An entry that this service did not write stays unsealed."""
    sealed = last_id = 0
    while True:
        with begin() as session:
            head = _locked_head(session)
            unsealed = select(AuditEntry).where(AuditEntry.number.is_(None), AuditEntry.id > last_id)
            entries = session.scalars(unsealed.order_by(AuditEntry.id).limit(bulk.BATCH)).all()
            if not entries:
                return sealed
            last_id = entries[-1].id
            sealed += _seal_batch(session, head, [entry for entry in entries if mac.is_valid(entry)])


def _locked_head(session: Session) -> AuditHead:
    """The end of the chain, locked; the first sealer creates it."""
    session.execute(_CREATE_HEAD, {"digest": FIRST_DIGEST})
    return session.scalars(select(AuditHead).where(AuditHead.id == 1).with_for_update()).one()


def _seal_batch(session: Session, head: AuditHead, entries: list[AuditEntry]) -> int:
    places = []
    for entry in entries:
        number = head.number + 1
        head.digest = chained_digest(head.digest, number, entry)
        head.number = number
        places.append({"id": entry.id, "number": number, "digest": head.digest})
    if places:
        session.execute(update(AuditEntry), places)
    return len(places)


def erase_expired(begin: BeginSession, days: int) -> int:
    """Erase the personal parts that are older than ``days``; returns their number."""
    expired = select(PersonalPart.token).where(PersonalPart.at <= now() - timedelta(days=days)).limit(bulk.BATCH)
    erased = 0
    while True:
        with begin() as session:
            count = bulk.execute_bulk(session, delete(PersonalPart).where(PersonalPart.token.in_(expired)))
        if not count:
            return erased
        erased += count


def has_unsealed(databases: Databases) -> bool:
    """Whether there is an entry to seal."""
    with databases.readonly_session() as session:
        return session.scalar(select(AuditEntry.id).where(AuditEntry.number.is_(None)).limit(1)) is not None


def seal_committed(registry: Any) -> None:
    """The worker that seals, in each process; commands seal by themselves when they verify."""
    databases = find_service(registry, Databases)
    if has_unsealed(databases):
        _best_effort(databases, lambda begin: seal_entries(begin, find_service(registry, EntryMac)))


def erase_old(registry: Any) -> None:
    """The worker that erases personal parts."""
    days = registry.settings["modhub.audit_days"]
    _best_effort(find_service(registry, Databases), lambda begin: erase_expired(begin, days))


def _best_effort(databases: Databases, work: Callable[[BeginSession], object]) -> None:
    """Never wait for a lock: writers go first, one sealer is enough, and the next round does what this one left."""
    try:
        begin: Any = databases.best_effort_session.begin
        work(begin)
    except Exception as error:
        if not is_transient(error):
            raise
