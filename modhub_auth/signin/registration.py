"""Registration, and an email address that an account adds or changes."""

from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict
from modhub.content.text import N_
from modhub.db import now
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_auth import email_addresses, services
from modhub_auth.container import auth_services
from modhub_auth.mail import link_tokens
from modhub_auth.mail.sender import ADDRESS_CHANGED
from modhub_auth.models import BY_PASSWORD, Account, Link, Login, LoginKind, OutgoingEmail, ResetRequest
from modhub_auth.rate_limits import RateCounter, caller_of, rate_counter
from modhub_auth.signin import recovery
from modhub_auth.signin.passwords import common_password_error, guessable_words, is_common, validate_password
from modhub_auth.signin.session_cookies import browser_name


def check_open(request: Request) -> None:
    """403 while registration is switched off, 429 when the caller has registered too often (C-LIM-1, C-ACC-11)."""
    settings = request.registry.settings
    if not settings["modhub_auth.registration"]:
        raise services.registration_closed()
    counter = rate_counter("register", caller_of(request), settings["modhub_auth.register_limit"])
    auth_services(request).rate_limiter.count([counter])


def register(request: Request, email: str, password: str, display_name: str) -> tuple[Account, Login]:
    """Create an account and its login, and queue the email that confirms its address.

    400 for invalid input, 409 for an address that has an account.
    """
    auth, settings = auth_services(request), request.registry.settings
    address, normalized = email_addresses.require_address(email), validate_password(password)
    if settings["modhub_auth.refuse_common_passwords"] and is_common(
        normalized, guessable_words(settings, address, display_name)
    ):
        raise common_password_error()
    if auth.account_reader.password_login_by_address(address) is not None:
        raise services.address_taken()
    password_hash = auth.passwords.hash(normalized)
    login = _new_login(address, password_hash)
    account = services.register_account(request.dbsession, login, display_name)
    recovery.queue_confirmation(request.dbsession, auth.outbox, login, translations_for(request))
    return account, login


def _new_login(address: str, password_hash: str | None) -> Login:
    return Login(kind=LoginKind.PASSWORD, subject=address, password_hash=password_hash, created_at=now())


def count_forgot(request: Request, *counters: RateCounter) -> None:
    """429 once the caller has asked for too many emails (C-LIM-8), or another one of these counters is full."""
    limit = request.registry.settings["modhub_auth.forgot_limit"]
    auth_services(request).rate_limiter.count([rate_counter("forgot", caller_of(request), limit), *counters])


def request_reset(request: Request, address: str) -> None:
    """Record a reset request for this address. At most three per address and window count, the others are dropped.

    The account is not looked up here, so that the time does not reveal whether it exists (T-C5).
    """
    session = request.dbsession
    if recovery.may_send(session, auth_services(request).rate_limiter, address):
        session.add(ResetRequest(address=address, language=translations_for(request).language, asked_at=now()))
        session.flush()


# Adding an address with a password to an account without one, and changing the address. Both are asked for with fresh
# proof, and done by the link sent to the new address.
#
# Until then the old address signs in. Whether the new one has an account shows only in the email that it gets.


def _queue_link(request: Request, account: Account, purpose: str, address: str, **link: Any) -> None:
    """Queue the email with the link to the address, or that it is taken; none if it has had too many lately."""
    auth, session = auth_services(request), request.dbsession
    if not recovery.may_send(session, auth.rate_limiter, address):
        return
    # The kinds of these emails are called as their links.
    kind = purpose if recovery.login_by_address(session, address) is None else "taken"
    # Also for a taken address, whose email has no link: the time must not reveal which address is taken.
    secret = link_tokens.create_link(session, purpose, account.id, address=address, **link)
    email = auth.outbox.render(kind, translations_for(request), secret, name=account.display_name)
    auth.outbox.queue(session, kind, address, email)


def _require_no_password(session: Session, account_id: int) -> None:
    """409 if the locked account has a password login: an account has at most one."""
    if _find_password_login(session, account_id) is not None:
        raise conflict("password_present", "This account already has a password, so this one was not added.")


def request_password(request: Request, account: Account, address: str, password_hash: str) -> None:
    """Queue the email that adds a password to a locked account. 409 if the account has one by now."""
    _require_no_password(request.dbsession, account.id)
    _queue_link(request, account, link_tokens.ADD_PASSWORD_LINK, address, password_hash=password_hash)


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
    login = _new_login(link.address, link.password_hash)
    login.account_id, login.verified = account.id, True
    services.add_login(session, login)
    record(session, "password added", "account", account.id, login=login.id)


def _find_password_login(session: Session, account_id: int) -> Login | None:
    """The password login of a locked account."""
    statement = select(Login).where(Login.account_id == account_id, *BY_PASSWORD)
    return session.scalars(statement.execution_options(populate_existing=True)).one_or_none()


def request_address_change(request: Request, account: Account, address: str) -> None:
    """Queue the email to the new address, with the link or that it is taken, and the notice to the old one.

    400 for the address that the locked account has.
    """
    outbox, session = auth_services(request).outbox, request.dbsession
    login = _find_password_login(session, account.id)
    if login is None:
        raise conflict("no_password", N_("This account has no email address yet. Add a password first."))
    if login.subject == address:
        raise ApiError(400, "same_address", N_("This is already your email address."))
    notice = outbox.render("change asked", translations_for(request), client=browser_name(request))
    outbox.queue(session, "change asked", login.subject, notice)
    record(session, "email address change requested", "account", account.id, login=login.id)
    _queue_link(request, account, link_tokens.CHANGE_ADDRESS_LINK, address, login_id=login.id)


def change_address(
    request: Request, secret: str, *, session_id: int | None = None, password_hash: str | None = None
) -> None:
    """Change the address by the link in the email, which also confirms it, and tell the old address.

    The visitor must have the account, as in :func:`recovery.confirm_address`. Sessions stay. 410 for a dead link, 409
    if the address has been taken since.
    """
    outbox, session = auth_services(request).outbox, request.dbsession
    link = link_tokens.find_link(session, secret, link_tokens.CHANGE_ADDRESS_LINK)
    if link is None or link.address is None:
        raise recovery.dead_link()
    address = link.address
    login = recovery.use_link(session, link)
    recovery.require_owner(session, login, session_id=session_id, password_hash=password_hash)
    old_address = login.subject
    login.subject, login.verified = address, True
    try:
        session.flush()
    except IntegrityError:
        raise services.address_taken() from None
    # They were sent to the old address.
    sent_before = Link.purpose.in_((link_tokens.RESET_LINK, link_tokens.CONFIRM_LINK))
    session.execute(delete(Link).where(Link.account_id == login.account_id, sent_before))
    # Nothing else leads from the account to its old address, also when it is deleted (C-ACC-18).
    session.execute(delete(OutgoingEmail).where(OutgoingEmail.recipient == old_address))
    notice = outbox.render(ADDRESS_CHANGED, translations_for(request), client=browser_name(request))
    outbox.queue(session, ADDRESS_CHANGED, old_address, notice)
    record(session, "email address changed", "account", login.account_id, login=login.id)
