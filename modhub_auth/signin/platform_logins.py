"""Logins at game platforms: sign in, register, link, unlink and prove by an assertion (C-ACC-19, C-PAGE-4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError, conflict
from modhub.db import bulk, now
from modhub_auth import services
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, Login, LoginKind, Nonce
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin import page_sessions, recovery, totp
from modhub_auth.signin.openid import NONCE_LIFE, Assertion, platform_refused
from modhub_auth.signin.registration import ValidatedRegistration
from modhub_auth.tokens import token_digest


@dataclass(frozen=True, slots=True)
class PlatformIdentity:
    """A user's identity at a platform."""

    platform: str
    subject: str


@dataclass(frozen=True, slots=True)
class SignInOutcome:
    """The account that an identity signs in to; ``needs_code``: a code of its authenticator is still required."""

    account: Account
    login: Login
    needs_code: bool


def use_nonce(session: Session, assertion: Assertion) -> None:
    """Use up the assertion's nonce. Of several requests with one assertion, one succeeds; the others get 403."""
    session.execute(delete(Nonce).where(Nonce.at <= now() - 2 * NONCE_LIFE))
    session.add(Nonce(hash=token_digest(assertion.nonce), at=now()))
    try:
        session.flush()
    except IntegrityError:
        raise platform_refused() from None


def login_of_identity(session: Session, identity: PlatformIdentity) -> Login | None:
    """The login of this identity, or None."""
    matches = (Login.platform == identity.platform, Login.subject == identity.subject)
    return session.scalars(select(Login).where(*matches)).one_or_none()


def _add_login(session: Session, account: Account, identity: PlatformIdentity, time: datetime) -> Login:
    login = Login(
        account_id=account.id,
        kind=LoginKind.PLATFORM.value,
        platform=identity.platform,
        subject=identity.subject,
        verified=True,
        created_at=time,
    )
    session.add(login)
    try:
        session.flush()
    except IntegrityError:
        raise login_taken() from None
    return login


def login_taken() -> Exception:
    """409: the identity belongs to another account."""
    return conflict("login_taken", "This sign-in method already belongs to another account.")


def sign_in_or_register(session: Session, identity: PlatformIdentity, *, registration: bool) -> SignInOutcome:
    """The account and login of the identity; a new account if there is none and registration is open."""
    linked_login = login_of_identity(session, identity)
    if linked_login is not None:
        account = services.lock_account(session, linked_login.account_id)
        # A reset may have removed the login before the lock was acquired.
        linked_login = login_of_identity(session, identity)
        if account is None or linked_login is None or linked_login.account_id != account.id:
            raise platform_refused()
        return SignInOutcome(account, linked_login, totp.has_authenticator(session, account.id))
    if not registration:
        raise services.registration_closed()
    time = now()
    account = Account(kind=LoginKind.PLATFORM.value, display_name="", created_at=time)
    session.add(account)
    session.flush()
    account.display_name = services.default_name(account)
    login = _add_login(session, account, identity, time)
    act_for_account(session, account.id)
    record(session, "registered", "account", account.id, login=login.id)
    return SignInOutcome(account, login, needs_code=False)


def link_login(session: Session, account: Account, identity: PlatformIdentity) -> bool:
    """Link the identity to a locked account; False if it is linked already, 409 if it belongs to another."""
    linked = login_of_identity(session, identity)
    if linked is not None and linked.account_id != account.id:
        raise login_taken()
    if linked is None:
        login = _add_login(session, account, identity, now())
        record(session, "login linked", "account", account.id, login=login.id)
    return linked is None


def prove_by_platform(session: Session, account: Account, session_id: int, identity: PlatformIdentity) -> None:
    """Accept the platform's sign-in as fresh proof for a session of a locked account.

    403 for another account's login, and for an account with an authenticator: the platform does not replace its code.
    """
    login = login_of_identity(session, identity)
    if login is None or login.account_id != account.id or totp.has_authenticator(session, account.id):
        raise ApiError(403, "login_not_yours", "Signing in this way does not prove that the account is yours.")
    page_sessions.record_proof(session, session_id)


def unlink_login(session: Session, account_id: int, login_id: int | None) -> bool:
    """Remove a platform login from a locked account, with the sessions that it started; 409 for the last login.

    A password login stays, since an account shows the login it was made with as ``subject`` (C-ACC-13). False when
    there is no such login.
    """
    of_account = Login.account_id == account_id
    ways_to_sign_in = select(func.count()).select_from(Login).where(of_account, Login.kind != LoginKind.KEY.value)
    if (session.scalar(ways_to_sign_in) or 0) < 2:
        raise conflict("last_login", "This is the only way to sign in to your account, so it cannot be removed.")
    platform_login = (Login.id == login_id, of_account, Login.kind == LoginKind.PLATFORM.value)
    removed = bulk.execute_bulk(session, delete(Login).where(*platform_login)) == 1
    if removed:
        record(session, "login unlinked", "account", account_id, login=login_id)
    return removed


def _require_no_password(session: Session, account_id: int) -> None:
    """409 if the locked account has a password login: an account has at most one."""
    password_logins = (Login.account_id == account_id, Login.kind == LoginKind.PASSWORD.value)
    if session.scalar(select(func.count()).select_from(Login).where(*password_logins)):
        raise conflict("password_present", "This account already has a password, so this one was not added.")


def request_password(
    session: Session, auth: AuthServices, account: Account, registration: ValidatedRegistration, messages: Any
) -> None:
    """Queue the email that adds a password to a locked account. If the address is taken, the email says so instead.
    409 if the account has a password by now.
    """
    _require_no_password(session, account.id)
    address = registration.address
    if not auth.rate_limiter.allows(session, [rate_counter("letter", address, recovery.RESET_EMAILS_PER_WINDOW)]):
        return
    email_kind = "add" if recovery.login_by_address(session, address) is None else "taken"
    # Also for a taken address, whose email has no link: the time must not reveal which address is taken.
    secret = link_tokens.create_link(
        session, link_tokens.ADD_PASSWORD_LINK, account.id, address=address, password_hash=registration.password_hash
    )
    email = auth.outbox.render(email_kind, messages, secret, name=account.display_name)
    auth.outbox.queue(session, email_kind, address, email)


def add_password(session: Session, secret: str, account: Account) -> None:
    """Add the password to the locked account that asked for it. The link in the email proves the address.

    410 for a dead link or one of another account; 409 for a taken address or a second password, as by forms in two
    tabs.
    """
    link = link_tokens.find_link(session, secret, link_tokens.ADD_PASSWORD_LINK)
    is_own = link is not None and link.account_id == account.id
    if link is None or not is_own or link.address is None or not link_tokens.consume_link(session, link):
        raise recovery.dead_link()
    _require_no_password(session, account.id)
    login = Login(
        account_id=account.id,
        kind=LoginKind.PASSWORD.value,
        platform="",
        subject=link.address,
        verified=True,
        password_hash=link.password_hash,
        created_at=now(),
    )
    session.add(login)
    try:
        session.flush()
    except IntegrityError:
        raise services.address_taken() from None
    record(session, "password added", "account", account.id, login=login.id)
