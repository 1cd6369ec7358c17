"""Sessions of pages: a random secret in a cookie, its hash in a row (decisions 3.10; threats, "Cookies")."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from modhub import text
from modhub.db import now
from modhub_auth.journal import note
from modhub_auth.models import CLIENT, Account, Login, PageSession
from modhub_auth.services import refused_blocked
from modhub_auth.tokens import digest, new_refresh_token

IDLE: Final = timedelta(hours=12)
ABSOLUTE: Final = timedelta(days=14)
TOUCH: Final = timedelta(minutes=10)
"""A session's last use is written down this often at most."""


def begin(session: Session, account: Account, login: Login, user_agent: str) -> str:
    """A new session of an account whose row is locked; answers its secret, of which this is the one copy.

    403 for a blocked account.
    """
    if account.blocked_at is not None:
        raise refused_blocked(account.id)
    time = now()
    ended = (PageSession.created_at <= time - ABSOLUTE) | (PageSession.used_at <= time - IDLE)
    session.execute(delete(PageSession).where(PageSession.account_id == account.id, ended))
    secret = new_refresh_token()
    session.add(
        PageSession(
            account_id=account.id,
            login_id=login.id,
            secret_hash=digest(secret),
            label=text.line(user_agent, CLIENT),
            created_at=time,
            used_at=time,
        )
    )
    session.flush()
    note("signed in", account=account.id, login=login.id, face="pages")
    return secret


def rotate(session: Session, session_id: int) -> str:
    """Another secret for the same session: the old one is worth nothing any more."""
    secret = new_refresh_token()
    changed = {"secret_hash": digest(secret), "used_at": now()}
    session.execute(update(PageSession).where(PageSession.id == session_id).values(changed))
    return secret


def touch(session: Session, held: str, time: datetime) -> None:
    """Note that the session was used at ``time``; not where its secret, of the hash ``held``, is no longer its own."""
    this = (PageSession.secret_hash == held, PageSession.used_at < time)
    session.execute(update(PageSession).where(*this).values(used_at=time))


def end(session: Session, account_id: int, session_id: int) -> None:
    """End one session of the account."""
    session.execute(delete(PageSession).where(PageSession.id == session_id, PageSession.account_id == account_id))
