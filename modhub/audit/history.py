"""What an account did, for its owner (C-ACC-26, C-DAT-2): entries whose address is erased lead to nobody any more."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from modhub.audit.models import AuditEntry
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData


class OwnEntry(NamedTuple):
    """An entry about the account itself: when, what, its details, and the address that it came from."""

    at: datetime
    action: str
    details: dict[str, Any]
    address: str


def by_account(account_id: int) -> tuple[ColumnElement[bool], ...]:
    """The condition of entries of what the account did."""
    return AuditEntry.actor_kind == "account", AuditEntry.actor_id == str(account_id)


def read_own_entries(session: Session, account_id: int, actions: Collection[str], size: int) -> list[OwnEntry]:
    """Return the newest ``size`` entries of these ``actions`` that the account did to itself."""
    own = (
        select(AuditEntry)
        .where(*by_account(account_id), AuditEntry.address.is_not(None))
        .where(AuditEntry.target_kind == "account", AuditEntry.target_id == str(account_id))
        .where(AuditEntry.action.in_(actions))
        .order_by(AuditEntry.id.desc())
        .limit(size)
    )
    return [
        OwnEntry(entry.at, entry.action, facts_of(entry.details), entry.address or "") for entry in session.scalars(own)
    ]


def facts_of(details: str) -> dict[str, Any]:
    """The facts of an entry with these ``details``."""
    facts: dict[str, Any] = json.loads(details) if details else {}
    return facts


def collect_entries(session: Session, account_id: int) -> AccountData | None:
    """All entries that still lead to the account, oldest first."""
    columns = (
        *(AuditEntry.at, AuditEntry.action, AuditEntry.target_kind, AuditEntry.target_id, AuditEntry.details),
        *(AuditEntry.address, AuditEntry.name),
    )
    entries = select(*columns).where(*by_account(account_id), AuditEntry.address.is_not(None))
    documents = row_documents(session, entries.order_by(AuditEntry.id))
    for document in documents:
        document["details"] = facts_of(document["details"])
    return AccountData(documents) if documents else None
