"""Sessions of pages: a random secret in a cookie, its hash in a row (decisions 3.10; threats, "Cookies")."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub import text
from modhub.db import now
from modhub.errors import Refusal
from modhub_auth.journal import note
from modhub_auth.models import CLIENT, Account, Login, PageSession
from modhub_auth.services import lock_account, refused_blocked
from modhub_auth.tokens import digest, new_refresh_token

IDLE: Final = timedelta(hours=12)
ABSOLUTE: Final = timedelta(days=14)
TOUCH: Final = timedelta(minutes=10)
"""A session's last use is written down this often at most."""
FRESH: Final = timedelta(minutes=10)
"""How long a sign-in at a platform proves that it is still the same person."""
SKEW: Final = timedelta(seconds=5)
"""What is granted to machines whose clocks differ."""


def ended() -> Refusal:
    """401 for somebody whose session ended while the request was on its way."""
    return Refusal(401, "signed_out", "You are not signed in any more. Sign in again.")


def is_fresh(proved_at: datetime | None) -> bool:
    """Whether a proof at this time still counts; one from the future is from before the clock was set back."""
    return proved_at is not None and -SKEW <= now() - proved_at < FRESH


def hold(session: Session, account_id: int, session_id: int) -> Account:
    """The account of a page session, locked. 401 when the session or the account has ended meanwhile.

    A request recognises its visitor before it locks anything; a reset that comes between must win.
    """
    account = lock_account(session, account_id)
    living = (PageSession.id == session_id, PageSession.account_id == account_id)
    if account is None or session.scalar(select(PageSession.id).where(*living)) is None:
        raise ended()
    return account


def begin(session: Session, account: Account, login: Login, user_agent: str, *, proved: bool = False) -> str:
    """A new session of an account whose row is locked; answers its secret, of which this is the one copy.

    ``proved``: it begins with a sign-in at a platform. 403 for a blocked account.
    """
    if account.blocked_at is not None:
        raise refused_blocked(account.id)
    time = now()
    over = (PageSession.created_at <= time - ABSOLUTE) | (PageSession.used_at <= time - IDLE)
    session.execute(delete(PageSession).where(PageSession.account_id == account.id, over))
    secret = new_refresh_token()
    session.add(
        PageSession(
            account_id=account.id,
            login_id=login.id,
            secret_hash=digest(secret),
            label=text.line(user_agent, CLIENT),
            created_at=time,
            used_at=time,
            proved_at=time if proved else None,
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


def prove(session: Session, session_id: int) -> None:
    """Note that a platform has just said again who is there."""
    session.execute(update(PageSession).where(PageSession.id == session_id).values(proved_at=now()))


def forget_proofs(session: Session, account_id: int) -> None:
    """A platform's word from before an authenticator was added proves nothing: a code is wanted from now on."""
    session.execute(update(PageSession).where(PageSession.account_id == account_id).values(proved_at=None))


def touch(session: Session, held: str, time: datetime) -> None:
    """Note that the session was used at ``time``; not where its secret, of the hash ``held``, is no longer its own."""
    this = (PageSession.secret_hash == held, PageSession.used_at < time)
    session.execute(update(PageSession).where(*this).values(used_at=time))


def end(session: Session, account_id: int, session_id: int) -> None:
    """End one session of the account."""
    session.execute(delete(PageSession).where(PageSession.id == session_id, PageSession.account_id == account_id))
