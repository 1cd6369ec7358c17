"""Reads of accounts outside any transaction, one driver statement each."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, exists, func, select

from modhub.db import from_micros, now, to_micros
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub_auth.models import (
    Account,
    Authenticator,
    ClientSession,
    Login,
    LoginKind,
    PageSession,
    PublisherKey,
    RecoveryCode,
)
from modhub_auth.signin.page_sessions import SESSION_IDLE, SESSION_LIFETIME
from modhub_auth.tokens import LoginClaim


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """A login and its account as they were when read. ``kind`` is the account's, ``login_kind`` the login's."""

    login_id: int
    account_id: int
    kind: str
    display_name: str
    login_kind: str
    subject: str
    verified: bool
    blocked: bool
    session_id: int | None = None
    """The id of the page session; None for a program."""
    proved_at: datetime | None = None
    """The last sign-in at a platform in this page session."""
    signed_in_at: datetime | None = None
    """When the page session began."""


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


class LoginMethod(NamedTuple):
    """A login as the account's page shows it."""

    id: int
    kind: str
    platform: str
    subject: str
    verified: bool


class KeyInfo(NamedTuple):
    """A publisher key as the account's page shows it."""

    login_id: int
    subject: str
    mod_id: int | None
    created_at: datetime
    used_at: datetime | None
    expires_at: datetime | None


class KeyRecord(NamedTuple):
    """A publisher key and its account as they were when read."""

    login_id: int
    account_id: int
    display_name: str
    blocked: bool
    mod_id: int | None
    expires_at: datetime | None


class SessionInfo(NamedTuple):
    """A session of an account: a browser or a program."""

    id: int
    label: str
    used_at: datetime


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """What the account's page shows; sessions by last use, latest first."""

    logins: list[LoginMethod]
    clients: list[SessionInfo]
    pages: list[SessionInfo]
    has_authenticator: bool
    keys: list[KeyInfo]
    """The publisher keys, which are no way to sign in."""
    recovery_codes: int
    """How many are left."""


_BLOCKED = Account.blocked_at.is_not(None)
_LOGIN_COLUMNS = (
    *(Login.id, Login.account_id, Account.kind, Account.display_name),
    *(Login.kind, Login.subject, Login.verified, _BLOCKED),
)


class AccountReader:
    """Reads accounts; one instance for each application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader
        logins = select(*_LOGIN_COLUMNS).join(Account, Account.id == Login.account_id)
        by_id = logins.where(Login.id == bindparam("id"))
        self._claimed_login = PreparedQuery(by_id.add_columns(Login.random_id))
        made_with = select(Login.subject, Login.verified).join(Account, Account.id == Login.account_id)
        same_kind = (Login.account_id == bindparam("account"), Login.kind == Account.kind)
        self._original_login = PreparedQuery(made_with.where(*same_kind).order_by(Login.id).limit(1))
        same_secret = PageSession.secret_hash == bindparam("secret_hash")
        is_alive = (PageSession.created_at > bindparam("oldest"), PageSession.used_at > bindparam("idle"))
        session_columns = (PageSession.id, PageSession.proved_at, PageSession.created_at, PageSession.used_at)
        self._page_session = PreparedQuery(
            logins.add_columns(*session_columns)
            .join(PageSession, PageSession.login_id == Login.id)
            .where(same_secret, *is_alive)
        )
        has_authenticator = exists().where(Authenticator.account_id == Login.account_id)
        sign_in_columns = (
            *(Login.id, Login.account_id, Login.verified, has_authenticator),
            *(_BLOCKED, Login.subject, Login.password_hash),
        )
        password_logins = select(*sign_in_columns).join(Account, Account.id == Login.account_id)
        password_logins = password_logins.where(Login.kind == LoginKind.PASSWORD.value, Login.platform == "")
        self._password_by_address = PreparedQuery(password_logins.where(Login.subject == bindparam("subject")))
        self._password_by_account = PreparedQuery(password_logins.where(Login.account_id == bindparam("account")))

        login_methods = select(Login.id, Login.kind, Login.platform, Login.subject, Login.verified)
        login_methods = login_methods.where(Login.account_id == bindparam("account"), Login.kind != LoginKind.KEY.value)
        self._login_methods = PreparedQuery(login_methods.order_by(Login.id))
        client_sessions = select(ClientSession.id, ClientSession.label, ClientSession.used_at).where(
            ClientSession.account_id == bindparam("account")
        )
        client_sessions = client_sessions.where(ClientSession.expires_at > bindparam("now")).order_by(
            ClientSession.used_at.desc(), ClientSession.id
        )
        self._client_sessions = PreparedQuery(client_sessions)
        page_sessions = select(PageSession.id, PageSession.label, PageSession.used_at)
        page_sessions = page_sessions.where(PageSession.account_id == bindparam("account"), *is_alive)
        self._page_sessions = PreparedQuery(page_sessions.order_by(PageSession.used_at.desc(), PageSession.id))
        authenticator = select(Authenticator.account_id).where(Authenticator.account_id == bindparam("account"))
        self._authenticator = PreparedQuery(authenticator)
        recovery_codes = select(func.count()).select_from(RecoveryCode)
        self._recovery_codes = PreparedQuery(recovery_codes.where(RecoveryCode.account_id == bindparam("account")))
        self._prepare_keys()

    def _prepare_keys(self) -> None:
        columns = (Login.id, Login.account_id, Account.display_name, _BLOCKED)
        keys = select(*columns, PublisherKey.mod_id, PublisherKey.expires_at)
        keys = keys.join(PublisherKey, PublisherKey.login_id == Login.id).join(Account, Account.id == Login.account_id)
        self._key_by_hash = PreparedQuery(keys.where(PublisherKey.key_hash == bindparam("key_hash")))
        self._key_by_login = PreparedQuery(keys.where(Login.id == bindparam("id")))
        shown = (Login.id, Login.subject, PublisherKey.mod_id)
        listed = select(*shown, PublisherKey.created_at, PublisherKey.used_at, PublisherKey.expires_at)
        listed = listed.join(PublisherKey, PublisherKey.login_id == Login.id)
        self._keys = PreparedQuery(listed.where(Login.account_id == bindparam("account")).order_by(Login.id))

    def overview(self, account_id: int) -> AccountOverview:
        """The account's logins and its sessions that have not ended."""
        read_rows, time = self.reader.rows, now()
        limits = {"oldest": to_micros(time - SESSION_LIFETIME), "idle": to_micros(time - SESSION_IDLE)}
        return AccountOverview(
            [LoginMethod._make((*row[:4], bool(row[4]))) for row in read_rows(self._login_methods, account=account_id)],
            _session_infos(read_rows(self._client_sessions, account=account_id, now=to_micros(time))),
            _session_infos(read_rows(self._page_sessions, account=account_id, **limits)),
            self.has_authenticator(account_id),
            [
                KeyInfo._make((*row[:3], *(None if at is None else from_micros(at) for at in row[3:])))
                for row in read_rows(self._keys, account=account_id)
            ],
            read_rows(self._recovery_codes, account=account_id)[0][0],
        )

    def key_by_hash(self, key_hash: str) -> KeyRecord | None:
        """The publisher key with this hash, expired or not."""
        return _key_record(self.reader.rows(self._key_by_hash, key_hash=key_hash))

    def key(self, login_id: int) -> KeyRecord | None:
        """The publisher key of this login, expired or not."""
        return _key_record(self.reader.rows(self._key_by_login, id=login_id))

    def has_authenticator(self, account_id: int) -> bool:
        """Whether the account has an authenticator."""
        return bool(self.reader.rows(self._authenticator, account=account_id))

    def claimed_login(self, claim: LoginClaim) -> LoginRecord | None:
        """The login that a token names; None if it was deleted, or if the number is another login's by now."""
        rows = self.reader.rows(self._claimed_login, id=claim.login_id)
        if not rows:
            return None
        *login_columns, random_id = rows[0]
        return _login_record(login_columns) if claim.random_id == random_id else None

    def original_login(self, login: LoginRecord) -> tuple[str, bool]:
        """(subject, whether it is confirmed) of the login that the account was created with (C-ACC-13).

        That is the oldest login of the account's kind, or ``login`` itself if none of that kind is left.
        """
        rows = self.reader.rows(self._original_login, account=login.account_id)
        return (rows[0][0], bool(rows[0][1])) if rows else (login.subject, login.verified)

    def page_session(self, secret_hash: str, oldest: datetime, idle: datetime) -> tuple[LoginRecord, datetime] | None:
        """The login of the page session with this hash, and its last use; None if it has ended."""
        limits = {"oldest": to_micros(oldest), "idle": to_micros(idle)}
        rows = self.reader.rows(self._page_session, secret_hash=secret_hash, **limits)
        if not rows:
            return None
        *login_columns, session_id, proved_at, created_at, used_at = rows[0]
        login = replace(
            _login_record(login_columns),
            session_id=session_id,
            proved_at=None if proved_at is None else from_micros(proved_at),
            signed_in_at=from_micros(created_at),
        )
        return login, from_micros(used_at)

    def password_login_by_address(self, address: str | None) -> PasswordLogin | None:
        """The password login with this address. None is looked up too, so that it takes as long."""
        rows = self.reader.rows(self._password_by_address, subject=address or "")
        return _password_login(rows[0]) if rows else None

    def password_login(self, account_id: int) -> PasswordLogin | None:
        """The account's password login, or None."""
        rows = self.reader.rows(self._password_by_account, account=account_id)
        return _password_login(rows[0]) if rows else None


def _login_record(row: Row) -> LoginRecord:
    # SQLite's driver has no booleans.
    login_id, account_id, kind, display_name, login_kind, subject, verified, blocked = row
    return LoginRecord(login_id, account_id, kind, display_name, login_kind, subject, bool(verified), bool(blocked))


def _key_record(rows: list[Row]) -> KeyRecord | None:
    if not rows:
        return None
    login_id, account_id, display_name, blocked, mod_id, expires_at = rows[0]
    expiry = None if expires_at is None else from_micros(expires_at)
    return KeyRecord(login_id, account_id, display_name, bool(blocked), mod_id, expiry)


def _session_infos(rows: list[Row]) -> list[SessionInfo]:
    return [SessionInfo(session_id, label, from_micros(used_at)) for session_id, label, used_at in rows]


def _password_login(row: Row) -> PasswordLogin:
    login_id, account_id, verified, has_authenticator, blocked, subject, password_hash = row
    return PasswordLogin(
        login_id, account_id, bool(verified), bool(has_authenticator), bool(blocked), subject, password_hash
    )
