"""Where somebody was signed in until time ended it: forgotten, because whoever never comes back tidies nothing up."""

from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub_auth.models import Client, PageSession
from modhub_auth.sessions import IDLE

AT_ONCE: Final = 2000
"""Rows of a kind that go in one transaction; no other writer waits for long. The sender tidies every ten minutes."""


def purge(session: Session) -> None:
    """Forget programs whose refresh token has lapsed, and page sessions that have ended.

    One that has ended by its age is not used any more, so that its last use ends it too, half a day later. A row that
    somebody holds is passed over: waiting for it could be a deadlock with whoever ends all sessions of its account.
    """
    time = now()
    for model, ended in ((Client, Client.expires_at <= time), (PageSession, PageSession.used_at <= time - IDLE)):
        some = select(model.id).where(ended).limit(AT_ONCE).with_for_update(skip_locked=True)
        bulk.run(session, delete(model).where(model.id.in_(some)))
