"""Where somebody was signed in until time ended it: forgotten, because whoever never comes back tidies nothing up."""

from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub_auth.models import ClientSession, PageSession
from modhub_auth.signin.page_sessions import SESSION_IDLE

EXPIRY_BATCH: Final = 2000
"""Rows of a kind that go in one transaction; no other writer waits for long. The sender tidies every ten minutes."""


def delete_expired_sessions(session: Session) -> None:
    """Forget programs whose refresh token has lapsed, and page sessions that have ended.

    One that has ended by its age is not used any more, so that its last use ends it too, half a day later. A row that
    somebody holds is passed over: waiting for it could be a deadlock with whoever ends all sessions of its account.
    """
    time = now()
    for model, is_expired in (
        (ClientSession, ClientSession.expires_at <= time),
        (PageSession, PageSession.used_at <= time - SESSION_IDLE),
    ):
        expired_ids = select(model.id).where(is_expired).limit(EXPIRY_BATCH).with_for_update(skip_locked=True)
        bulk.execute_bulk(session, delete(model).where(model.id.in_(expired_ids)))
