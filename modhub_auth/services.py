"""Accounts: locks, registration, deletion. Each function works in the caller's transaction.

The account's row is locked first, so that no session survives a concurrent reset or deletion. No password is hashed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ARRAY, BigInteger, Row, bindparam, delete, func, select, true, union
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError, account_blocked, conflict
from modhub.base.security_log import log_event
from modhub.content.text import N_
from modhub.db import bulk
from modhub.plugins.events import AccountDeleted
from modhub_auth.mail.sender import FAREWELL
from modhub_auth.models import (
    BY_PASSWORD,
    Account,
    ClientSession,
    DeviceCode,
    Link,
    Login,
    LoginKind,
    OutgoingEmail,
    PageSession,
    ResetRequest,
)
from modhub_auth.signin.totp import has_authenticator
from modhub_auth.signin.totp import remove_authenticator as remove_factor

MAX_TURNS: Final = bulk.BATCH
"""Accounts that are locked in their turn; each takes room in the table of locks of PostgreSQL. Of more, only rows."""
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="modhub"'}


@dataclass(frozen=True, slots=True, repr=False)
class PasswordLogin:
    """A password login, with what a sign-in checks."""

    login_id: int
    account_id: int
    verified: bool
    has_authenticator: bool
    blocked: bool
    subject: str
    password_hash: str | None


def invalid_credentials() -> ApiError:
    """401, the same for an unknown address and a wrong password."""
    return ApiError(401, "invalid_credentials", "The email address or the password is wrong.", headers=CHALLENGE)


def second_factor_required() -> ApiError:
    """401 after the right password, when the code is missing or wrong (C-ACC-8)."""
    message = N_("Send the code of the authenticator too; each code works once.")
    return ApiError(401, "second_factor_required", message, headers=CHALLENGE, twoFactorRequired=True)


def registration_closed() -> ApiError:
    """403 while the operator has switched off registration."""
    return ApiError(403, "registration_closed", "This service does not accept new accounts at the moment.")


def email_not_confirmed() -> ApiError:
    """403 after the right password, if sign-in requires a confirmed address."""
    return ApiError(403, "email_not_confirmed", "Confirm your email address first: follow the link in the email.")


class BlockedAccountError(ApiError):
    """403 for a blocked account with correct credentials. The account is for the page, and in no response."""

    def __init__(self, account_id: int) -> None:
        known = account_blocked()
        super().__init__(known.status, known.code, known.sentence)
        self.account_id = account_id


def blocked_account_error(account_id: int) -> ApiError:
    """The error, which is logged."""
    log_event("sign-in refused: blocked", account=account_id)
    return BlockedAccountError(account_id)


def address_taken() -> ApiError:
    """409: the address already has an account."""
    return conflict("address_taken", "There is already an account with this email address.")


def login_taken() -> ApiError:
    """409: the identity belongs to another account."""
    return conflict("login_taken", "This sign-in method already belongs to another account.")


def share_account(session: Session, account_id: int) -> Row[datetime | None] | None:
    """When the account was blocked, its row kept as it is until the transaction ends; None if it was deleted.

    PostgreSQL lets those who share a row past somebody who waits to change it, and advisory locks in turn (T-E4).
    """
    statement = select(Account.blocked_at).where(Account.id == account_id)
    if _takes_turns(session):
        turn = func.pg_advisory_xact_lock_shared(account_id).table_valued(name="turn")
        statement = statement.join(turn, true())
    return session.execute(statement.with_for_update(read=True, of=Account)).one_or_none()


def lock_account(session: Session, account_id: int) -> Account | None:
    """The account, its row locked until the transaction ends; None if it was deleted."""
    return lock_accounts(session, [account_id]).get(account_id)


def lock_accounts(session: Session, account_ids: Iterable[int]) -> dict[int, Account]:
    """The accounts with these ids, by id, their rows locked in the order of the ids; without those of no account."""
    accounts: dict[int, Account] = {}
    ids = sorted(set(account_ids))
    if _takes_turns(session) and len(ids) <= MAX_TURNS:
        session.execute(select(func.pg_advisory_xact_lock(func.unnest(bindparam("ids", ids, ARRAY(BigInteger))))))
    for batch in bulk.batches(ids):
        locked = select(Account).where(Account.id.in_(batch)).order_by(Account.id).with_for_update()
        rows = session.scalars(locked.execution_options(populate_existing=True))
        accounts |= {account.id: account for account in rows}
    return accounts


def _takes_turns(session: Session) -> bool:
    """SQLite has only one writer anyway."""
    return session.get_bind().dialect.name == "postgresql"


def default_name(account: Account) -> str:
    """The name of an account that chose none (C-ACC-2)."""
    return f"Modder {account.id}"


def add_login(session: Session, login: Login) -> None:
    """Add a login to its account. 409 if the address or the identity has one, even when two requests come at once."""
    taken = address_taken() if login.kind == LoginKind.PASSWORD else login_taken()
    session.add(login)
    try:
        session.flush()
    except IntegrityError:
        raise taken from None


def register_account(session: Session, login: Login, display_name: str = "") -> Account:
    """Create an account with its first login, which is new; 409 as :func:`add_login`."""
    account = Account(kind=login.kind, display_name=display_name, created_at=login.created_at)
    session.add(account)
    session.flush()
    if not display_name:
        account.display_name = default_name(account)
    login.account_id = account.id
    add_login(session, login)
    act_for_account(session, account.id)
    record(session, "registered", "account", account.id, login=login.id)
    return account


def lock_checked_login(session: Session, checked: PasswordLogin, *, needs_code: bool = True) -> tuple[Account, Login]:
    """Lock the account and return it with its login; 401 if something has changed since the check."""
    account = lock_account(session, checked.account_id)
    login = session.get(Login, checked.login_id, populate_existing=True)
    if account is None or login is None or login.password_hash != checked.password_hash:
        raise invalid_credentials()
    if needs_code and not checked.has_authenticator and has_authenticator(session, account.id):
        raise second_factor_required()
    return account, login


def delete_account(session: Session, registry: Any, account: Account) -> None:
    """Delete an account whose row is locked. Other features subscribe to the event and delete their data."""
    account_id = account.id
    # First: its own personal part is erased with the others of the account.
    record(session, "account deleted", "account", account_id)
    registry.notify(AccountDeleted(account_id, session, registry))
    remove_factor(session, account_id)
    _forget_emails(session, account_id)
    for model in (ClientSession, PageSession, DeviceCode, Link, Login):
        session.execute(delete(model).where(model.account_id == account_id))
    session.delete(account)
    session.flush()


def _forget_emails(session: Session, account_id: int) -> None:
    """Delete the emails to the account's addresses, but not the one that tells of the deletion: it is still to be sent.

    Sending that one forgets its address (:mod:`modhub_auth.mail.sender`), as does the one to an earlier address.
    """
    own = select(Login.subject).where(Login.account_id == account_id, *BY_PASSWORD)
    typed = select(Link.address).where(Link.account_id == account_id, Link.address.is_not(None))
    addresses = session.scalars(union(own, typed)).all()
    is_unsent_farewell = (OutgoingEmail.kind == FAREWELL) & OutgoingEmail.finished_at.is_(None)
    session.execute(delete(OutgoingEmail).where(OutgoingEmail.recipient.in_(addresses), ~is_unsent_farewell))
    session.execute(delete(ResetRequest).where(ResetRequest.address.in_(addresses)))
