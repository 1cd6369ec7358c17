"""Storing what the storage machine reports."""

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.db import bulk, now
from modhub.storage_address.models import THE_ROW, StoredAddress


def store_reported_address(session: Session, base_url: str) -> bool:
    """Store the address; returns whether it changed. Of equal concurrent reports only one returns True."""
    differs = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    statement = update(StoredAddress).where(THE_ROW, differs).values(base_url=base_url, reported_at=now())
    is_new = bulk.execute_bulk(session, statement) == 1
    if is_new:
        record(session, "storage address reported", "storage", base_url)
    return is_new
