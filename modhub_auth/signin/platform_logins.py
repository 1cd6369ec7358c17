"""Logins at game platforms: sign in, register, link, unlink and prove by an assertion (C-ACC-19, C-PAGE-4)."""

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict
from modhub.db import bulk, now
from modhub_auth import services
from modhub_auth.models import Account, Login, LoginKind, Nonce
from modhub_auth.signin import sessions, totp
from modhub_auth.signin.openid import NONCE_LIFE, Assertion, platform_refused
from modhub_auth.tokens import token_digest


def use_nonce(session: Session, assertion: Assertion) -> None:
    """Use up the assertion's nonce. Of several requests with one assertion, one succeeds; the others get 403."""
    session.execute(delete(Nonce).where(Nonce.at <= now() - 2 * NONCE_LIFE))
    session.add(Nonce(hash=token_digest(assertion.nonce), at=now()))
    try:
        session.flush()
    except IntegrityError:
        raise platform_refused() from None


def login_of_identity(session: Session, identity: Assertion) -> Login | None:
    """The login of this identity, or None."""
    matches = (Login.platform == identity.platform, Login.subject == identity.subject)
    return session.scalars(select(Login).where(*matches)).one_or_none()


def _new_login(identity: Assertion) -> Login:
    return Login(
        kind=LoginKind.PLATFORM,
        platform=identity.platform,
        subject=identity.subject,
        verified=True,
        created_at=now(),
    )


def sign_in_or_register(session: Session, identity: Assertion, *, registration: bool) -> tuple[Account, Login]:
    """The account and login of the identity; a new account if there is none and registration is open."""
    linked_login = login_of_identity(session, identity)
    if linked_login is not None:
        account = services.lock_account(session, linked_login.account_id)
        # A reset may have removed the login before the lock was acquired.
        linked_login = login_of_identity(session, identity)
        if account is None or linked_login is None or linked_login.account_id != account.id:
            raise platform_refused()
        return account, linked_login
    if not registration:
        raise services.registration_closed()
    login = _new_login(identity)
    account = services.register_account(session, login)
    return account, login


def link_login(session: Session, account: Account, identity: Assertion) -> bool:
    """Link the identity to a locked account; False if it is linked already, 409 if it belongs to another."""
    linked = login_of_identity(session, identity)
    if linked is not None and linked.account_id != account.id:
        raise services.login_taken()
    if linked is None:
        login = _new_login(identity)
        login.account_id = account.id
        services.add_login(session, login)
        record(session, "login linked", "account", account.id, login=login.id)
    return linked is None


def prove_by_platform(session: Session, account: Account, session_id: int, identity: Assertion) -> None:
    """Accept the platform's sign-in as fresh proof for a session of a locked account.

    403 for another account's login, and for an account with an authenticator: the platform does not replace its code.
    """
    login = login_of_identity(session, identity)
    if login is None or login.account_id != account.id or totp.has_authenticator(session, account.id):
        raise ApiError(403, "login_not_yours", "Signing in this way does not prove that the account is yours.")
    sessions.record_proof(session, session_id)


def unlink_login(session: Session, account_id: int, login_id: int | None) -> bool:
    """Remove a platform login from a locked account, with the sessions that it started; 409 for the last login.

    A password login stays, since an account shows the login it was made with as ``subject`` (C-ACC-13). False when
    there is no such login.
    """
    of_account = Login.account_id == account_id
    ways_to_sign_in = select(func.count()).select_from(Login).where(of_account, Login.kind != LoginKind.KEY)
    if (session.scalar(ways_to_sign_in) or 0) < 2:
        raise conflict("last_login", "This is the only way to sign in to your account, so it cannot be removed.")
    platform_login = (Login.id == login_id, of_account, Login.kind == LoginKind.PLATFORM)
    removed = bulk.execute_bulk(session, delete(Login).where(*platform_login)) == 1
    if removed:
        record(session, "login unlinked", "account", account_id, login=login_id)
    return removed
