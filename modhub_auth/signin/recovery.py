"""Password reset and address confirmation by email (C-MAIL-1). Ending sessions requires the account's row lock."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError, conflict
from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import bulk
from modhub.ui.i18n import Catalogs
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.mail.outbox import Outbox
from modhub_auth.models import BY_PASSWORD, Account, ClientSession, DeviceCode, Link, Login, PageSession, ResetRequest
from modhub_auth.rate_limits import RateLimiter, rate_counter
from modhub_auth.services import lock_account
from modhub_auth.signin import sessions, totp

RESET_EMAILS_PER_WINDOW: Final = 3
"""How many emails ``forgot`` sends to one address in the window."""
RESET_BATCH: Final = 100
"""How many reset requests are handled before emails are sent again."""
AUTHENTICATOR: Final = "authenticator"
"""The `AccountAccess.key` of the authenticator; that of a login is its id."""


class AccountAccess(NamedTuple):
    """A login or the authenticator of an account. ``platform`` and ``subject`` are set for a login."""

    key: str
    platform: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class ResetChoice:
    """The keys that the reset page listed, and those of them to keep."""

    listed: frozenset[str]
    keep: frozenset[str]


def dead_link() -> ApiError:
    """410: the link has expired or has been used."""
    message = N_("This link has already been used or has expired. Request a new one.")
    return ApiError(410, "dead_link", message, headers={"Referrer-Policy": "no-referrer"})


def login_by_address(session: Session, address: str) -> Login | None:
    """The password login with this address."""
    return session.scalars(select(Login).where(Login.subject == address, *BY_PASSWORD)).one_or_none()


def queue_confirmation(session: Session, outbox: Outbox, login: Login, messages: Any) -> None:
    """Queue the email that asks a new account to confirm its address."""
    secret = link_tokens.create_link(session, link_tokens.CONFIRM_LINK, login.account_id, login_id=login.id)
    account = session.get_one(Account, login.account_id)
    email = outbox.render("confirm", messages, secret, name=account.display_name)
    outbox.queue(session, "confirm", login.subject, email)


def may_send(session: Session, rate_limiter: RateLimiter, address: str) -> bool:
    """Count an email to an address that may be a stranger's; False if it has had too many lately."""
    return rate_limiter.allows(session, [rate_counter("letter", address, RESET_EMAILS_PER_WINDOW)])


def queue_requested_resets(registry: Any) -> None:
    """Queue the emails of the requested resets whose account exists, and delete the requests.

    Each request has its own transaction, so that only one of several processes writes the email.
    """
    auth, catalogs = find_service(registry, AuthServices), find_service(registry, Catalogs)
    with auth.databases.readonly_session() as session:
        reset_requests = session.scalars(select(ResetRequest).order_by(ResetRequest.id).limit(RESET_BATCH)).all()
    for reset_request in reset_requests:
        with auth.databases.write_session.begin() as session:
            if bulk.execute_bulk(session, delete(ResetRequest).where(ResetRequest.id == reset_request.id)) == 1:
                _queue_reset(session, auth.outbox, reset_request.address, catalogs.choose(reset_request.language))


def _queue_reset(session: Session, outbox: Outbox, address: str, messages: Any) -> None:
    login = login_by_address(session, address)
    if login is not None and lock_account(session, login.account_id) is not None:
        secret = link_tokens.create_link(session, link_tokens.RESET_LINK, login.account_id, login_id=login.id)
        outbox.queue(session, "reset", login.subject, outbox.render("reset", messages, secret))


def queue_security_email(
    session: Session,
    outbox: Outbox,
    account_id: int | None,
    kind: str,
    messages: Any,
    **values: str,
) -> None:
    """Queue the notice of ``kind`` to every confirmed address of the account; ``values`` as :meth:`Outbox.render`.

    It is rendered for an account without any, too, so that the time does not tell (T-C5).
    """
    confirmed = (Login.account_id == account_id, Login.verified, *BY_PASSWORD)
    email = outbox.render(kind, messages, **values)
    for address in session.scalars(select(Login.subject).where(*confirmed)):
        outbox.queue(session, kind, address, email)


def end_sessions(session: Session, account_ids: Iterable[int], keep: int | None = None) -> None:
    """Sign accounts out of all programs and pages, except the page session ``keep``."""
    for batch in bulk.batches(account_ids):
        for model in (ClientSession, DeviceCode):
            bulk.execute_bulk(session, delete(model).where(model.account_id.in_(batch)))
        ended = delete(PageSession).where(PageSession.account_id.in_(batch))
        bulk.execute_bulk(session, ended if keep is None else ended.where(PageSession.id != keep))


def set_password(session: Session, login: Login, password_hash: str) -> None:
    """Change the password of a login, and delete its reset links and the device codes that its account has allowed."""
    login.password_hash = password_hash
    session.execute(delete(Link).where(Link.account_id == login.account_id, Link.purpose == link_tokens.RESET_LINK))
    session.execute(delete(DeviceCode).where(DeviceCode.account_id == login.account_id))
    session.flush()


def use_link(session: Session, link: Link) -> Login:
    """Lock the account of a link, use the link up and return its login; 410 when another request was faster."""
    account = lock_account(session, link.account_id)
    login = None if account is None else session.get(Login, link.login_id, populate_existing=True)
    if login is None or not link_tokens.consume_link(session, link):
        raise dead_link()
    act_for_account(session, link.account_id)
    return login


def _claim_account(session: Session, login: Login) -> None:
    """First proof of the address: remove everything else, in case a stranger registered it."""
    totp.remove_authenticator(session, login.account_id)
    removed = bulk.execute_bulk(
        session, delete(Login).where(Login.account_id == login.account_id, Login.id != login.id)
    )
    if removed:
        record(session, "other logins unlinked", "account", login.account_id, logins=removed)
    login.verified = True
    session.flush()


def require_owner(session: Session, login: Login, *, session_id: int | None, password_hash: str | None) -> None:
    """401 unless the visitor has the account of ``login``: by its page session, or by the password that matched
    ``password_hash``.
    """
    if session_id is not None:
        sessions.lock_session_account(session, login.account_id, session_id)
    elif password_hash is None or login.password_hash != password_hash:
        raise sessions.session_ended()


def confirm_address(
    session: Session, secret: str, *, session_id: int | None = None, password_hash: str | None = None
) -> None:
    """Confirm an address by the link in its email. The visitor must also have the account: by its page session, or by
    the password that matched ``password_hash``. Nothing else changes. 401 when neither is valid any more.
    """
    link = link_tokens.find_link(session, secret, link_tokens.CONFIRM_LINK)
    if link is None:
        raise dead_link()
    login = use_link(session, link)
    require_owner(session, login, session_id=session_id, password_hash=password_hash)
    login.verified = True
    session.flush()
    record(session, "address confirmed", "account", login.account_id, login=login.id)


def other_access(session: Session, login: Login) -> list[AccountAccess]:
    """The account's other logins, and its authenticator."""
    others = select(Login).where(Login.account_id == login.account_id, Login.id != login.id).order_by(Login.id)
    access = [AccountAccess(str(other.id), other.platform, other.subject) for other in session.scalars(others)]
    return [*access, AccountAccess(AUTHENTICATOR)] if totp.has_authenticator(session, login.account_id) else access


def _remove_access(session: Session, login: Login, choice: ResetChoice) -> Iterable[str]:
    """Remove what was listed and not kept, and return the kinds of the notices. 409 when something was added since."""
    current = {access.key for access in other_access(session, login)}
    if current - choice.listed:
        message = N_("Something was added to the account while this page was open. Check the list again.")
        raise conflict("changed_meanwhile", message)
    for key in sorted(current - choice.keep):
        if key == AUTHENTICATOR:
            totp.remove_authenticator(session, login.account_id)
            yield "factor removed"
        else:
            session.execute(delete(Login).where(Login.id == int(key), Login.account_id == login.account_id))
            record(session, "login unlinked", "account", login.account_id, login=int(key))
            yield "login unlinked"


def reset_password(
    session: Session,
    outbox: Outbox,
    secret: str,
    password_hash: str,
    messages: Any,
    *,
    purpose: str = link_tokens.RESET_LINK,
    choice: ResetChoice | None = None,
    client: str = "",
) -> int:
    """Set a new password by the link in an email, end every session of the account and return the account's id.

    The link also proves the address. The first proof removes all other access, a later one what ``choice`` leaves out.
    Nobody is signed in. Until the address is confirmed, its confirmation link (``purpose``) works as well.
    """
    link = link_tokens.find_link(session, secret, purpose)
    if link is None:
        raise dead_link()
    login = use_link(session, link)
    kinds = ["password changed"]
    if not login.verified:
        _claim_account(session, login)
    elif purpose != link_tokens.RESET_LINK:
        raise dead_link()
    elif choice is not None:
        kinds += _remove_access(session, login, choice)
    set_password(session, login, password_hash)
    end_sessions(session, [login.account_id])
    session.execute(delete(Link).where(Link.account_id == login.account_id))
    for kind in kinds:
        queue_security_email(session, outbox, login.account_id, kind, messages, client=client)
    record(session, "password reset", "account", login.account_id, login=login.id)
    return login.account_id
