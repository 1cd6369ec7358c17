"""What an account did with itself, for its owner (C-ACC-26)."""

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit.models import AuditEntry, PersonalPart


class OwnEntry(NamedTuple):
    """An entry about the account itself: when, what, its details, and the address that it came from."""

    at: datetime
    action: str
    details: dict[str, Any]
    address: str


def read_own_entries(session: Session, account_id: int, actions: Collection[str], size: int) -> list[OwnEntry]:
    """Return the newest ``size`` entries of these ``actions`` that the account did to itself.

    Those whose personal part is erased are not found: it is what leads from an account to its entries.
    """
    own = (
        select(AuditEntry.at, AuditEntry.action, AuditEntry.details, PersonalPart.address)
        .join(PersonalPart, PersonalPart.token == AuditEntry.token)
        .where(PersonalPart.account_id == account_id)
        .where(AuditEntry.target_kind == "account", AuditEntry.target_id == str(account_id))
        .where(AuditEntry.action.in_(actions))
        .order_by(AuditEntry.id.desc())
        .limit(size)
    )
    return [
        OwnEntry(at, action, json.loads(details) if details else {}, address)
        for at, action, details, address in session.execute(own)
    ]


def read_facts(session: Session, action: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(id of the target, details) of each entry of this action, oldest first: to compare what is stored with it."""
    entries = select(AuditEntry.target_id, AuditEntry.details).where(AuditEntry.action == action)
    for target_id, details in session.execute(entries.order_by(AuditEntry.id)):
        yield target_id, json.loads(details) if details else {}
