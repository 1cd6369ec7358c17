"""Registration, and another email address for an account."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict
from modhub.content.text import N_
from modhub_auth import email_addresses, services
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.sender import ADDRESS_CHANGED
from modhub_auth.models import Account, Link, Login, LoginKind, OutgoingEmail
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin import recovery
from modhub_auth.signin.passwords import common_password_error, guessable_words, is_common, validate_password


@dataclass(frozen=True, slots=True, repr=False)
class ValidatedRegistration:
    """A registration that passed the checks."""

    address: str
    password_hash: str


def check_open(auth: AuthServices, settings: Mapping[str, Any], caller: str) -> None:
    """403 while registration is switched off, 429 when the caller has registered too often (C-LIM-1, C-ACC-11)."""
    if not settings["modhub_auth.registration"]:
        raise services.registration_closed()
    auth.rate_limiter.count([rate_counter("register", caller, settings["modhub_auth.register_limit"])])


def validate_registration(
    auth: AuthServices, settings: Mapping[str, Any], email: str, password: str, name: str = ""
) -> ValidatedRegistration:
    """Check the input and hash the password; 400 for invalid input, 409 for an address that has an account."""
    address = email_addresses.require_address(email)
    normalized = validate_password(password)
    if settings["modhub_auth.refuse_common_passwords"] and is_common(
        normalized, guessable_words(settings, address, name)
    ):
        raise common_password_error()
    if auth.account_reader.password_login_by_address(address) is not None:
        raise services.address_taken()
    return ValidatedRegistration(address, auth.passwords.hash(normalized))


def create_account(
    session: Session, outbox: Outbox, registration: ValidatedRegistration, display_name: str, messages: Any
) -> tuple[Account, Login]:
    """Create the account and its login, and queue the email that confirms its address."""
    account, login = services.register_account(session, registration.address, registration.password_hash, display_name)
    recovery.queue_confirmation(session, outbox, login, messages)
    return account, login


# Changing the email address of an account: asked for with fresh proof, done by the link sent to the new address.
#
# Until then the old address signs in. Whether the new one has an account shows only in the email that it gets.


def _password_login(session: Session, account_id: int) -> Login:
    """The password login of a locked account; 409 if it has none."""
    statement = select(Login).where(Login.account_id == account_id, Login.kind == LoginKind.PASSWORD.value)
    login = session.scalars(statement.execution_options(populate_existing=True)).one_or_none()
    if login is None:
        raise conflict("no_password", N_("This account has no email address yet. Add a password first."))
    return login


def request_address_change(
    session: Session, auth: AuthServices, account: Account, address: str, messages: Any, *, client: str
) -> None:
    """Queue the email to the new address, with the link or that it is taken, and the notice to the old one.

    400 for the address that the locked account has.
    """
    login = _password_login(session, account.id)
    if login.subject == address:
        raise ApiError(400, "same_address", N_("This is already your email address."))
    outbox = auth.outbox
    notice = outbox.render("change asked", messages, client=client)
    outbox.queue(session, "change asked", login.subject, notice)
    record(session, "email address change requested", "account", account.id, login=login.id)
    if not auth.rate_limiter.allows(session, [rate_counter("letter", address, recovery.RESET_EMAILS_PER_WINDOW)]):
        return
    kind = "change" if recovery.login_by_address(session, address) is None else "taken"
    # Also for a taken address, whose email has no link: the time must not reveal which address is taken.
    secret = link_tokens.create_link(
        session, link_tokens.CHANGE_ADDRESS_LINK, account.id, login_id=login.id, address=address
    )
    outbox.queue(session, kind, address, outbox.render(kind, messages, secret, name=account.display_name))


def change_address(
    session: Session,
    outbox: Outbox,
    secret: str,
    messages: Any,
    *,
    client: str,
    session_id: int | None = None,
    password_hash: str | None = None,
) -> None:
    """Change the address by the link in the email, which also confirms it, and tell the old address.

    The visitor must have the account, as in :func:`recovery.confirm_address`. Sessions stay. 410 for a dead link, 409
    if the address has been taken since.
    """
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
    outbox.queue(session, ADDRESS_CHANGED, old_address, outbox.render(ADDRESS_CHANGED, messages, client=client))
    record(session, "email address changed", "account", login.account_id, login=login.id)
