"""Sessions of programs: their refresh tokens, each of which works once (C-TOK-3, C-ACC-14)."""

from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError
from modhub.db import bulk, now
from modhub_auth.models import Account, ClientSession, Login
from modhub_auth.services import CHALLENGE, CheckedLogin, blocked_account_error, lock_account, lock_checked_login
from modhub_auth.tokens import REFRESH_LIFE, new_refresh_token, token_digest


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


def sign_in(session: Session, checked_login: CheckedLogin, client: str) -> SignedIn:
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
