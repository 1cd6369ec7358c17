"""Reads of accounts: what identifies a caller, outside any transaction; and what the account's page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, exists, func, select
from sqlalchemy.orm import Session

from modhub.db import from_micros, now, to_micros
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub_auth.models import (
    BY_PASSWORD,
    Account,
    Authenticator,
    ClientSession,
    Login,
    LoginKind,
    PageSession,
    PublisherKey,
    RecoveryCode,
)
from modhub_auth.services import PasswordLogin
from modhub_auth.signin.sessions import SESSION_IDLE, SESSION_LIFETIME
from modhub_auth.signin.totp import has_authenticator
from modhub_auth.tokens import LoginClaim


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """A login and its account as they were when read. ``kind`` is the account's, ``login_kind`` the login's.

    ``mod_id`` and ``expires_at`` are of a publisher key: the one mod that it is for, and its end, if it has one.
    """

    login_id: int
    account_id: int
    kind: str
    display_name: str
    login_kind: str
    subject: str
    verified: bool
    blocked: bool
    mod_id: int | None = None
    expires_at: datetime | None = None
    session_id: int | None = None
    """The id of the page session; None for a program."""
    proved_at: datetime | None = None
    """The last sign-in at a platform in this page session."""
    signed_in_at: datetime | None = None
    """When the page session began."""
    used_at: datetime | None = None
    """Its last use that was recorded."""


def has_expired(login: LoginRecord, time: datetime) -> bool:
    """Whether it is a publisher key that is no longer valid."""
    return login.expires_at is not None and login.expires_at <= time


_BLOCKED = Account.blocked_at.is_not(None)
_LOGINS: Final = (
    select(
        *(Login.id, Login.account_id, Account.kind, Account.display_name, Login.kind, Login.subject, Login.verified),
        *(_BLOCKED, PublisherKey.mod_id, PublisherKey.expires_at),
    )
    .join(Account, Account.id == Login.account_id)
    .outerjoin(PublisherKey, PublisherKey.login_id == Login.id)
    .where((Login.kind != LoginKind.KEY) | PublisherKey.login_id.is_not(None))
)
_CLAIMED_LOGIN: Final = PreparedQuery(_LOGINS.add_columns(Login.random_id).where(Login.id == bindparam("id")))
_KEY: Final = PreparedQuery(_LOGINS.where(PublisherKey.key_hash == bindparam("key_hash")))
_PAGE_SESSION: Final = PreparedQuery(
    _LOGINS.add_columns(PageSession.id, PageSession.proved_at, PageSession.created_at, PageSession.used_at)
    .join(PageSession, PageSession.login_id == Login.id)
    .where(
        PageSession.secret_hash == bindparam("secret_hash"),
        PageSession.created_at > bindparam("oldest"),
        PageSession.used_at > bindparam("idle"),
    )
)
_ORIGINAL_LOGIN: Final = PreparedQuery(
    select(Login.subject, Login.verified)
    .join(Account, Account.id == Login.account_id)
    .where(Login.account_id == bindparam("account"), Login.kind == Account.kind)
    .order_by(Login.id)
    .limit(1)
)
_PASSWORD_LOGINS: Final = (
    select(
        *(Login.id, Login.account_id, Login.verified, exists().where(Authenticator.account_id == Login.account_id)),
        *(_BLOCKED, Login.subject, Login.password_hash),
    )
    .join(Account, Account.id == Login.account_id)
    .where(*BY_PASSWORD)
)
_PASSWORD_BY_ADDRESS: Final = PreparedQuery(_PASSWORD_LOGINS.where(Login.subject == bindparam("subject")))
_PASSWORD_BY_ACCOUNT: Final = PreparedQuery(_PASSWORD_LOGINS.where(Login.account_id == bindparam("account")))
_AUTHENTICATOR: Final = PreparedQuery(
    select(Authenticator.account_id).where(Authenticator.account_id == bindparam("account"))
)


class AccountReader:
    """Reads accounts; one instance for each application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader

    def key(self, key_hash: str) -> LoginRecord | None:
        """The login of the publisher key with this hash, expired or not."""
        rows = self.reader.rows(_KEY, key_hash=key_hash)
        return _login_record(rows[0]) if rows else None

    def has_authenticator(self, account_id: int) -> bool:
        """Whether the account has an authenticator."""
        return bool(self.reader.rows(_AUTHENTICATOR, account=account_id))

    def claimed_login(self, claim: LoginClaim) -> LoginRecord | None:
        """The login that a token names; None if it was deleted, or if the number is another login's by now."""
        rows = self.reader.rows(_CLAIMED_LOGIN, id=claim.login_id)
        if not rows:
            return None
        *login_columns, random_id = rows[0]
        return _login_record(login_columns) if claim.random_id == random_id else None

    def original_login(self, login: LoginRecord) -> tuple[str, bool]:
        """(subject, whether it is confirmed) of the login that the account was created with (C-ACC-13).

        That is the oldest login of the account's kind, or ``login`` itself if none of that kind is left.
        """
        rows = self.reader.rows(_ORIGINAL_LOGIN, account=login.account_id)
        return (rows[0][0], bool(rows[0][1])) if rows else (login.subject, login.verified)

    def page_session(self, secret_hash: str) -> LoginRecord | None:
        """The login of the page session with this hash; None if it has ended."""
        time = now()
        limits = {"oldest": to_micros(time - SESSION_LIFETIME), "idle": to_micros(time - SESSION_IDLE)}
        rows = self.reader.rows(_PAGE_SESSION, secret_hash=secret_hash, **limits)
        if not rows:
            return None
        *login_columns, session_id, proved_at, created_at, used_at = rows[0]
        return replace(
            _login_record(login_columns),
            session_id=session_id,
            proved_at=_moment(proved_at),
            signed_in_at=from_micros(created_at),
            used_at=from_micros(used_at),
        )

    def password_login_by_address(self, address: str | None) -> PasswordLogin | None:
        """The password login with this address. None is looked up too, so that it takes as long."""
        rows = self.reader.rows(_PASSWORD_BY_ADDRESS, subject=address or "")
        return _password_login(rows[0]) if rows else None

    def password_login(self, account_id: int) -> PasswordLogin | None:
        """The account's password login, or None."""
        rows = self.reader.rows(_PASSWORD_BY_ACCOUNT, account=account_id)
        return _password_login(rows[0]) if rows else None


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _login_record(row: Row) -> LoginRecord:
    # SQLite's driver has no booleans.
    login_id, account_id, kind, display_name, login_kind, subject, verified, blocked, mod_id, expires_at = row
    names = (login_id, account_id, kind, display_name, login_kind, subject)
    return LoginRecord(*names, bool(verified), bool(blocked), mod_id, _moment(expires_at))


def _password_login(row: Row) -> PasswordLogin:
    login_id, account_id, verified, has_authenticator, blocked, subject, password_hash = row
    return PasswordLogin(
        login_id, account_id, bool(verified), bool(has_authenticator), bool(blocked), subject, password_hash
    )


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """What the account's page shows; sessions by last use, latest first."""

    logins: Sequence[Login]
    clients: Sequence[ClientSession]
    pages: Sequence[PageSession]
    has_authenticator: bool
    keys: Sequence[Any]
    """The publisher keys, which are no way to sign in: the login's id and subject, and what `PublisherKey` has."""
    recovery_codes: int
    """How many are left."""


def read_overview(session: Session, account_id: int) -> AccountOverview:
    """The account's logins and its sessions that have not ended."""
    time = now()
    logins = select(Login).where(Login.account_id == account_id, Login.kind != LoginKind.KEY)
    clients = select(ClientSession).where(ClientSession.account_id == account_id, ClientSession.expires_at > time)
    is_alive = (PageSession.created_at > time - SESSION_LIFETIME, PageSession.used_at > time - SESSION_IDLE)
    pages = select(PageSession).where(PageSession.account_id == account_id, *is_alive)
    shown = (PublisherKey.mod_id, PublisherKey.created_at, PublisherKey.used_at, PublisherKey.expires_at)
    keys = select(PublisherKey.login_id, Login.subject, *shown).join(Login, Login.id == PublisherKey.login_id)
    recovery_codes = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.account_id == account_id)
    return AccountOverview(
        session.scalars(logins.order_by(Login.id)).all(),
        session.scalars(clients.order_by(ClientSession.used_at.desc(), ClientSession.id)).all(),
        session.scalars(pages.order_by(PageSession.used_at.desc(), PageSession.id)).all(),
        has_authenticator(session, account_id),
        session.execute(keys.where(Login.account_id == account_id).order_by(Login.id)).all(),
        session.scalar(recovery_codes) or 0,
    )
