"""Counting what an account has and sends. Functions over a session."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from modhub.db import now
from modhub.db.bulk import execute_bulk
from modhub_moderation.quotas.models import CountedUpload

UPLOAD_WINDOW: Final = timedelta(hours=1)
"""The sliding window in which uploads count."""


def lock_quota(session: Session, account_id: int) -> None:
    """Let what an account stores be counted one by one, until the transaction ends. SQLite has only one writer anyway.

    It is always the last lock that a call takes of its own, so no two calls wait for each other.
    """
    if session.get_bind().dialect.name == "postgresql":
        digest = hashlib.sha256(f"quota\0{account_id}".encode()).digest()
        session.execute(select(func.pg_advisory_xact_lock(int.from_bytes(digest[:8], signed=True))))


def count_uploads(session: Session, account_id: int) -> int:
    """How many files the account has uploaded within the last hour."""
    counted = select(func.count(CountedUpload.id))
    return (
        session.scalar(counted.where(CountedUpload.account_id == account_id, CountedUpload.at > now() - UPLOAD_WINDOW))
        or 0
    )


def next_upload_at(session: Session, account_id: int, most: int) -> datetime | None:
    """When the account may upload again, if it has used up its ``most`` uploads an hour; None if it has not."""
    counted = select(CountedUpload.at).where(
        CountedUpload.account_id == account_id, CountedUpload.at > now() - UPLOAD_WINDOW
    )
    blocking: datetime | None = session.scalar(counted.order_by(CountedUpload.at.desc()).offset(most - 1).limit(1))
    return None if blocking is None else blocking + UPLOAD_WINDOW


def count_upload(session: Session, account_id: int) -> None:
    """Count one upload, in the transaction that stores it."""
    session.add(CountedUpload(account_id=account_id, at=now()))
    session.flush()


def delete_uploads_of_account(session: Session, account_id: int) -> None:
    """Delete what is counted of a deleted account."""
    execute_bulk(session, delete(CountedUpload).where(CountedUpload.account_id == account_id))


def delete_old_uploads(session: Session) -> None:
    """Delete what counts no more."""
    execute_bulk(session, delete(CountedUpload).where(CountedUpload.at <= now() - UPLOAD_WINDOW))
