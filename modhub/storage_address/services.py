"""Storing what the storage machine reports."""

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub.storage_address.models import THE_ROW, StoredAddress


def store_reported_address(session: Session, base_url: str) -> bool:
    """Store the address; returns whether it changed. Of equal concurrent reports only one returns True."""
    differs = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    statement = update(StoredAddress).where(THE_ROW, differs).values(base_url=base_url, reported_at=now())
    return bulk.execute_bulk(session, statement) == 1
