"""Storing what the storage machine reports."""

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub.storage_address.models import THE_ROW, StoredAddress


def store_reported_address(session: Session, base_url: str) -> bool:
    """Store the address; whether it differs from the stored one. Of equal reports at once one alone answers True."""
    other = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    change = update(StoredAddress).where(THE_ROW, other).values(base_url=base_url, reported_at=now())
    return bulk.execute_bulk(session, change) == 1
