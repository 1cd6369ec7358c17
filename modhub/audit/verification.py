"""Verifying the chain: entries that were changed, removed, inserted or moved are found."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from modhub.audit.hashing import FIRST_DIGEST, EntryMac, chained_digest, personal_digest
from modhub.audit.models import AuditEntry, AuditHead, PersonalPart
from modhub.db import bulk


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last sealed entry: what to compare the next time."""

    number: int
    digest: str


def chain_head(session: Session) -> ChainHead:
    """The end of the chain, as the sealer has left it."""
    head = session.get(AuditHead, 1)
    return ChainHead(0, FIRST_DIGEST) if head is None else ChainHead(head.number, head.digest)


def last_number(session: Session) -> int:
    """The highest number of an entry. Read it before the head, which the sealer may move in the meantime."""
    return session.scalar(select(func.max(AuditEntry.number))) or 0


def damage(session: Session, mac: EntryMac, head: ChainHead, expected: ChainHead | None = None) -> Iterator[str]:
    """One sentence for each problem up to ``head``. An erased personal part is none.

    ``expected`` is the head that an earlier verification printed.
    """
    number, digest = 0, FIRST_DIGEST
    for entry, personal in _sealed(session, head):
        assert entry.number is not None
        if entry.number > number + 1:
            yield _missing(number + 1, entry.number - 1)
            # What follows is checked against a digest that cannot be known any more.
        elif chained_digest(digest, entry.number, entry) != entry.digest:
            yield f"Entry {entry.number} was changed or moved."
        if personal is not None and not _is_of(entry, personal):
            yield f"The personal part of entry {entry.number} was changed."
        if expected is not None and expected.number == entry.number and expected.digest != entry.digest:
            yield f"Entry {entry.number} does not have the expected digest: the chain was rewritten."
        number, digest = entry.number, entry.digest or ""
    if number < head.number:
        yield _missing(number + 1, head.number)
    elif digest != head.digest:
        yield f"Entry {number} does not have the digest of the end of the chain."
    if expected is not None and expected.number > head.number:
        yield _missing(head.number + 1, expected.number)
    yield from _foreign(session, mac, head)


def _is_of(entry: AuditEntry, personal: PersonalPart) -> bool:
    """Whether nobody has changed the personal part, nor when, or with which account, it will be erased."""
    account = entry.actor_id if entry.actor_kind == "account" else None
    personal_account = None if personal.account_id is None else str(personal.account_id)
    return (personal_digest(personal), personal.at, personal_account) == (entry.personal_digest, entry.at, account)


def _missing(first: int, last: int) -> str:
    return f"Entry {first} is missing." if first == last else f"Entries {first} to {last} are missing."


def _sealed(session: Session, head: ChainHead) -> Iterator[tuple[AuditEntry, PersonalPart | None]]:
    """All sealed entries in order, with their personal parts."""
    joined = select(AuditEntry, PersonalPart).outerjoin(PersonalPart, PersonalPart.token == AuditEntry.token)
    last = -(2**62)
    while True:
        place = (AuditEntry.number > last, AuditEntry.number <= head.number)
        batch = session.execute(joined.where(*place).order_by(AuditEntry.number).limit(bulk.BATCH)).all()
        yield from ((entry, personal) for entry, personal in batch)
        if len(batch) < bulk.BATCH:
            return
        last = batch[-1][0].number or 0
        session.expunge_all()


def _foreign(session: Session, mac: EntryMac, head: ChainHead) -> Iterator[str]:
    """Entries and personal parts that this service did not write."""
    unsealed = select(AuditEntry).where(AuditEntry.number.is_(None) | (AuditEntry.number > head.number))
    for entry in session.scalars(unsealed.order_by(AuditEntry.id)):
        if not mac.is_valid(entry):
            yield f"The row {entry.id} of {entry.at:%Y-%m-%d %H:%M} was inserted by somebody else."
    known = select(AuditEntry.token).where(AuditEntry.token == PersonalPart.token)
    for token in session.scalars(select(PersonalPart.token).where(~known.exists())):
        yield f"The personal part {token} belongs to no entry."
