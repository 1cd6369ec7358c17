"""Logins at game platforms: whom an assertion signs in, links or makes (C-ACC-19, C-PAGE-4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub.errors import ApiError, conflict
from modhub.security_log import log_event
from modhub_auth import services
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, Login, LoginKind, Nonce
from modhub_auth.platform.openid import NONCE_LIFE, Assertion, platform_refused
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin import page_sessions, recovery, totp
from modhub_auth.signin.access_tokens import token_digest
from modhub_auth.signin.registration import ValidatedRegistration


@dataclass(frozen=True, slots=True)
class PlatformIdentity:
    """Who somebody is at a platform."""

    platform: str
    subject: str


@dataclass(frozen=True, slots=True)
class SignInOutcome:
    """Somebody who has come back from a platform; ``factor``: a code of the authenticator is wanted as well."""

    account: Account
    login: Login
    factor: bool


def use_nonce(session: Session, assertion: Assertion) -> None:
    """An assertion counts once: of many who present it, one succeeds."""
    session.execute(delete(Nonce).where(Nonce.at <= now() - 2 * NONCE_LIFE))
    session.add(Nonce(hash=token_digest(assertion.nonce), at=now()))
    try:
        session.flush()
    except IntegrityError:
        raise platform_refused() from None


def login_of_identity(session: Session, identity: PlatformIdentity) -> Login | None:
    """The login of this identity."""
    wanted = (Login.platform == identity.platform, Login.subject == identity.subject)
    return session.scalars(select(Login).where(*wanted)).one_or_none()


def _add(session: Session, account: Account, identity: PlatformIdentity, time: datetime) -> Login:
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
    """409: the identity signs in to another account."""
    return conflict("login_taken", "This login already belongs to another account.")


def sign_in_or_register(session: Session, identity: PlatformIdentity, *, registration: bool) -> SignInOutcome:
    """Whom the identity signs in; a new account when there is none and registration is open."""
    known = login_of_identity(session, identity)
    if known is not None:
        account = services.lock_account(session, known.account_id)
        # A reset may have taken the login away before the lock was had.
        known = login_of_identity(session, identity)
        if account is None or known is None or known.account_id != account.id:
            raise platform_refused()
        return SignInOutcome(account, known, totp.has_authenticator(session, account.id))
    if not registration:
        raise services.registration_closed()
    time = now()
    account = Account(kind=LoginKind.PLATFORM.value, display_name="", created_at=time)
    session.add(account)
    session.flush()
    account.display_name = f"Modder {account.id}"
    login = _add(session, account, identity, time)
    log_event("registered", account=account.id, login=login.id)
    return SignInOutcome(account, login, factor=False)


def link_login(session: Session, account: Account, identity: PlatformIdentity) -> bool:
    """Link the identity to an account that is locked; False when it is linked already, 409 when it is another's."""
    known = login_of_identity(session, identity)
    if known is not None and known.account_id != account.id:
        raise login_taken()
    if known is None:
        login = _add(session, account, identity, now())
        log_event("login linked", account=account.id, login=login.id)
    return known is None


def prove_by_platform(session: Session, account: Account, session_id: int, identity: PlatformIdentity) -> None:
    """Take the platform's word that whoever is signed in to a locked account is still there.

    403 for a login of somebody else, and where an authenticator is there: a platform's word does not replace its code.
    """
    known = login_of_identity(session, identity)
    if known is None or known.account_id != account.id or totp.has_authenticator(session, account.id):
        raise ApiError(403, "login_not_yours", "This login does not prove that the account is yours.")
    page_sessions.record_proof(session, session_id)


def unlink_login(session: Session, account_id: int, login_id: int | None) -> bool:
    """Take a platform's login away from a locked account, with the sessions that it began; never the last login.

    A login by password stays: what the account was made with is its ``subject`` (C-ACC-13). False for no login.
    """
    mine = Login.account_id == account_id
    if (session.scalar(select(func.count()).select_from(Login).where(mine)) or 0) < 2:
        raise conflict("last_login", "This is the only way to sign in to your account, so it cannot be removed.")
    gone = (Login.id == login_id, mine, Login.kind == LoginKind.PLATFORM.value)
    removed = bulk.execute_bulk(session, delete(Login).where(*gone)) == 1
    if removed:
        log_event("login unlinked", account=account_id, login=login_id)
    return removed


def _without_password(session: Session, account_id: int) -> None:
    """409 where the locked account has a login by password: there is one at most."""
    held = (Login.account_id == account_id, Login.kind == LoginKind.PASSWORD.value)
    if session.scalar(select(func.count()).select_from(Login).where(*held)):
        raise conflict("password_present", "This account already has a password, so this one was not added.")


def request_password(
    session: Session, own: AuthServices, account: Account, prepared: ValidatedRegistration, messages: Any
) -> None:
    """Queue the letter by which a locked account without a password gets one; who has the address already is told by
    it. 409 where the account has got a password meanwhile.
    """
    _without_password(session, account.id)
    address = prepared.address
    if not own.limits.allows(session, [rate_counter("letter", address, recovery.RESET_EMAILS_PER_WINDOW)]):
        return
    kind = "add" if recovery.by_address(session, address) is None else "taken"
    # For a taken address too, where nobody learns it: the time must not tell whose address has an account.
    secret = link_tokens.create_link(
        session, link_tokens.ADD_PASSWORD_LINK, account.id, address=address, password_hash=prepared.password_hash
    )
    own.writer.queue(session, kind, address, own.writer.write(kind, messages, secret, name=account.display_name))


def add_password(session: Session, secret: str, account: Account) -> None:
    """Add the password to the locked account that asked, by the link in its letter, which proves the address.

    410 for a dead link and for one of another account, 409 for an address that is taken and for a second password:
    forms in two tabs must not make two.
    """
    found = link_tokens.find_link(session, secret, link_tokens.ADD_PASSWORD_LINK)
    mine = found is not None and found.account_id == account.id
    if found is None or not mine or found.address is None or not link_tokens.consume_link(session, found):
        raise recovery.dead_link()
    _without_password(session, account.id)
    login = Login(
        account_id=account.id,
        kind=LoginKind.PASSWORD.value,
        platform="",
        subject=found.address,
        verified=True,
        password_hash=found.password_hash,
        created_at=now(),
    )
    session.add(login)
    try:
        session.flush()
    except IntegrityError:
        raise services.address_taken() from None
    log_event("password added", account=account.id, login=login.id)
