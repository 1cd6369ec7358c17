"""Delete expired refresh tokens and page sessions in batches."""

from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.db import bulk, now
from modhub_auth.models import ClientSession, PageSession
from modhub_auth.signin.page_sessions import SESSION_IDLE

EXPIRY_BATCH: Final = 2000
"""Rows per table and transaction, so that no other writer waits long. The mail worker deletes every ten minutes."""


def delete_expired_sessions(session: Session) -> None:
    """Delete programs with an expired refresh token, and page sessions that have ended.

    A page session that ended by its age is no longer used, so it is deleted as idle half a day later. Locked rows are
    skipped: waiting for one could deadlock with a transaction that ends all sessions of its account.
    """
    time = now()
    for model, is_expired in (
        (ClientSession, ClientSession.expires_at <= time),
        (PageSession, PageSession.used_at <= time - SESSION_IDLE),
    ):
        expired_ids = select(model.id).where(is_expired).limit(EXPIRY_BATCH).with_for_update(skip_locked=True)
        bulk.execute_bulk(session, delete(model).where(model.id.in_(expired_ids)))
