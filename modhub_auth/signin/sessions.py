"""What is signed in: browsers, by a random secret in a cookie, and programs, by refresh tokens that each work once.

Only hashes of both are stored (C-PAGE-7, C-TOK-3, C-ACC-14; T-H6).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError
from modhub.content import text
from modhub.db import bulk, now
from modhub_auth.models import MAX_CLIENT_LABEL, Account, ClientSession, DeviceCode, Login, Offer, PageSession
from modhub_auth.services import CHALLENGE, PasswordLogin, blocked_account_error, lock_account, lock_checked_login
from modhub_auth.tokens import REFRESH_LIFE, is_recent, new_refresh_token, token_digest

SESSION_IDLE: Final = timedelta(hours=12)
SESSION_LIFETIME: Final = timedelta(days=14)
TOUCH_INTERVAL: Final = timedelta(minutes=10)
"""A session's last use is recorded at most this often."""
PROOF_LIFETIME: Final = timedelta(minutes=10)
"""How long a sign-in at a platform counts as fresh proof."""


def session_ended() -> ApiError:
    """401 when the session ended during the request."""
    return ApiError(401, "signed_out", "You are no longer signed in. Sign in again.")


def is_fresh(proved_at: datetime | None) -> bool:
    """Whether a proof given at this time still counts."""
    return proved_at is not None and is_recent(proved_at, PROOF_LIFETIME)


def lock_session_account(session: Session, account_id: int, session_id: int) -> Account:
    """Lock and return the account of a page session. 401 when the session or the account is gone by now.

    A request identifies its visitor before it locks anything; a reset in between must win.
    """
    account = lock_account(session, account_id)
    this_session = (PageSession.id == session_id, PageSession.account_id == account_id)
    if account is None or session.scalar(select(PageSession.id).where(*this_session)) is None:
        raise session_ended()
    return account


def begin_page_session(
    session: Session, account: Account, login: Login, user_agent: str, *, proved: bool = False
) -> str:
    """Start a session of an account whose row is locked, and return its secret, which is not stored.

    ``proved``: it starts with a sign-in at a platform. 403 for a blocked account.
    """
    if account.blocked_at is not None:
        raise blocked_account_error(account.id)
    time = now()
    expired = (PageSession.created_at <= time - SESSION_LIFETIME) | (PageSession.used_at <= time - SESSION_IDLE)
    session.execute(delete(PageSession).where(PageSession.account_id == account.id, expired))
    secret = new_refresh_token()
    session.add(
        PageSession(
            account_id=account.id,
            login_id=login.id,
            secret_hash=token_digest(secret),
            label=text.line(user_agent, MAX_CLIENT_LABEL),
            created_at=time,
            used_at=time,
            proved_at=time if proved else None,
        )
    )
    session.flush()
    act_for_account(session, account.id)
    record(session, "signed in", "account", account.id, login=login.id, via="pages")
    return secret


def rotate_page_session(session: Session, session_id: int) -> str:
    """Give the session a new secret; the old one is invalid from now on."""
    secret = new_refresh_token()
    values = {"secret_hash": token_digest(secret), "used_at": now()}
    session.execute(update(PageSession).where(PageSession.id == session_id).values(values))
    return secret


def record_proof(session: Session, session_id: int) -> None:
    """Record that a platform has just confirmed the user again."""
    session.execute(update(PageSession).where(PageSession.id == session_id).values(proved_at=now()))


def forget_proofs(session: Session, account_id: int) -> None:
    """Forget platform proofs of the account: after an authenticator is added, a code is required instead."""
    session.execute(update(PageSession).where(PageSession.account_id == account_id).values(proved_at=None))


def touch_page_session(session: Session, secret_hash: str, time: datetime) -> None:
    """Record that the session was used at ``time``, unless its secret has changed since."""
    this_session = (PageSession.secret_hash == secret_hash, PageSession.used_at < time)
    session.execute(update(PageSession).where(*this_session).values(used_at=time))


def end_page_session(session: Session, account_id: int, session_id: int) -> None:
    """End one page session of the account."""
    session.execute(delete(PageSession).where(PageSession.id == session_id, PageSession.account_id == account_id))


EXPIRY_BATCH: Final = 2000
"""Rows per table and transaction, so that no other writer waits long. The mail worker deletes every ten minutes."""


def delete_expired_sessions(session: Session) -> None:
    """Delete programs with an expired refresh token, device codes and offers past their time, and ended page sessions.

    A page session that ended by its age is no longer used, so it is deleted as idle half a day later. Locked rows are
    skipped: waiting for one could deadlock with a transaction that ends all sessions of its account.
    """
    time = now()
    for model, is_expired in (
        (ClientSession, ClientSession.expires_at <= time),
        (DeviceCode, DeviceCode.expires_at <= time),
        (Offer, Offer.expires_at <= time),
        (PageSession, PageSession.used_at <= time - SESSION_IDLE),
    ):
        expired_ids = select(model.id).where(is_expired).limit(EXPIRY_BATCH).with_for_update(skip_locked=True)
        bulk.execute_bulk(session, delete(model).where(model.id.in_(expired_ids)))


@dataclass(frozen=True, slots=True, repr=False)
class SignedIn:
    """A new sign-in, with its refresh token, which is not stored."""

    login_id: int
    random_id: str
    account_id: int
    display_name: str
    refresh_token: str


def invalid_refresh_token() -> ApiError:
    """401 for a refresh token that is unknown, expired, used or signed out."""
    return ApiError(401, "invalid_refresh_token", "Sign in again: this refresh token has expired.", headers=CHALLENGE)


def sign_in(session: Session, checked_login: PasswordLogin, client: str) -> SignedIn:
    """Sign a program in by a login that was just checked outside the transaction."""
    account, login = lock_checked_login(session, checked_login)
    return issue_tokens(session, account, login, client)


def issue_tokens(session: Session, account: Account, login: Login, label: str) -> SignedIn:
    """Add a client with its first refresh token to an account that is new or locked. 403 if it is blocked."""
    if account.blocked_at is not None:
        raise blocked_account_error(account.id)
    time = now()
    token = new_refresh_token()
    session.add(
        ClientSession(
            account_id=account.id,
            login_id=login.id,
            label=label,
            refresh_hash=token_digest(token),
            created_at=time,
            used_at=time,
            expires_at=time + REFRESH_LIFE,
        )
    )
    session.execute(
        delete(ClientSession).where(ClientSession.account_id == account.id, ClientSession.expires_at <= time)
    )
    session.flush()
    act_for_account(session, account.id)
    record(session, "signed in", "account", account.id, login=login.id, via="program")
    return SignedIn(login.id, login.random_id, account.id, account.display_name, token)


def refresh_session(session: Session, token: str, label: str) -> SignedIn:
    """Exchange a refresh token for the next. Of several concurrent requests, one succeeds (C-ACC-14)."""
    token_hash = token_digest(token)
    client = session.execute(
        select(ClientSession.account_id, ClientSession.login_id).where(ClientSession.refresh_hash == token_hash)
    ).one_or_none()
    account = None if client is None else lock_account(session, client.account_id)
    if client is None or account is None or account.blocked_at is not None:
        raise invalid_refresh_token()
    time = now()
    new_token = new_refresh_token()
    values: dict[str, object] = {
        "refresh_hash": token_digest(new_token),
        "used_at": time,
        "expires_at": time + REFRESH_LIFE,
    }
    if label:
        values["label"] = label
    is_valid = (ClientSession.refresh_hash == token_hash, ClientSession.expires_at > time)
    if bulk.execute_bulk(session, update(ClientSession).where(*is_valid).values(values)) != 1:
        raise invalid_refresh_token()
    login = session.get_one(Login, client.login_id)
    return SignedIn(login.id, login.random_id, account.id, account.display_name, new_token)


def revoke_session(session: Session, token: str) -> None:
    """Delete the client with this refresh token; an unknown token changes nothing."""
    session.execute(delete(ClientSession).where(ClientSession.refresh_hash == token_digest(token)))
