"""What the audit trail has of an account: its entries, with the addresses that they came from (C-DAT-2)."""

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit.models import AuditEntry, PersonalPart
from modhub.db.row_documents import row_documents
from modhub.declarations import AccountData

_ENTRY = AuditEntry.at, AuditEntry.action, AuditEntry.target_kind, AuditEntry.target_id, AuditEntry.details


def collect_entries(session: Session, account_id: int) -> AccountData | None:
    """All entries that still lead to the account, oldest first."""
    entries = select(*_ENTRY, PersonalPart.address, PersonalPart.name).join(
        PersonalPart, PersonalPart.token == AuditEntry.token
    )
    documents = row_documents(session, entries.where(PersonalPart.account_id == account_id).order_by(AuditEntry.id))
    for document in documents:
        document["details"] = json.loads(document["details"]) if document["details"] else {}
    return AccountData(documents) if documents else None
