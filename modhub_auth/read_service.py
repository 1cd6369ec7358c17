"""What is read of accounts before any transaction: one driver statement for each question."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, exists, select

from modhub.db import from_micros, now, to_micros
from modhub.raw_queries import RawQueryExecutor, Row
from modhub_auth.models import Account, Authenticator, ClientSession, Login, LoginKind, PageSession
from modhub_auth.signin.page_sessions import SESSION_IDLE, SESSION_LIFETIME


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
    """The page session, where it is one; a program has none."""
    proved_at: datetime | None = None
    """When a platform last said in this page session who is there."""
    signed_in_at: datetime | None = None
    """When the page session began."""


@dataclass(frozen=True, slots=True, repr=False)
class PasswordLogin:
    """A login by password: what a sign-in is judged by."""

    login_id: int
    account_id: int
    verified: bool
    factor: bool
    blocked: bool
    subject: str
    password_hash: str | None


class LoginMethod(NamedTuple):
    """A login as its account's page shows it."""

    id: int
    kind: str
    platform: str
    subject: str
    verified: bool


class SessionInfo(NamedTuple):
    """Somewhere that an account is signed in: a browser or a program."""

    id: int
    label: str
    used_at: datetime


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """What an account's own page shows; places by their last use, the latest first."""

    logins: list[LoginMethod]
    clients: list[SessionInfo]
    pages: list[SessionInfo]
    factor: bool


_BLOCKED = Account.blocked_at.is_not(None)
_ACCOUNT = (
    *(Login.id, Login.account_id, Account.kind, Account.display_name),
    *(Login.kind, Login.subject, Login.verified, _BLOCKED),
)


class AccountReader:
    """The reading side of accounts; one for an application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader
        joined = select(*_ACCOUNT).join(Account, Account.id == Login.account_id)
        self._login = reader.prepare(joined.where(Login.id == bindparam("id")))
        made_with = select(Login.subject, Login.verified).join(Account, Account.id == Login.account_id)
        of_kind = (Login.account_id == bindparam("account"), Login.kind == Account.kind)
        self._made_with = reader.prepare(made_with.where(*of_kind).order_by(Login.id).limit(1))
        held = (PageSession.secret_hash == bindparam("held"), PageSession.created_at > bindparam("oldest"))
        session = (PageSession.id, PageSession.proved_at, PageSession.created_at, PageSession.used_at)
        self._session = reader.prepare(
            joined.add_columns(*session)
            .join(PageSession, PageSession.login_id == Login.id)
            .where(*held, PageSession.used_at > bindparam("idle"))
        )
        factor = exists().where(Authenticator.account_id == Login.account_id)
        judged = (Login.id, Login.account_id, Login.verified, factor, _BLOCKED, Login.subject, Login.password_hash)
        by_password = select(*judged).join(Account, Account.id == Login.account_id)
        by_password = by_password.where(Login.kind == LoginKind.PASSWORD.value, Login.platform == "")
        self._address = reader.prepare(by_password.where(Login.subject == bindparam("subject")))
        self._password = reader.prepare(by_password.where(Login.account_id == bindparam("account")))

        ways = select(Login.id, Login.kind, Login.platform, Login.subject, Login.verified)
        self._ways = reader.prepare(ways.where(Login.account_id == bindparam("account")).order_by(Login.id))
        clients = select(ClientSession.id, ClientSession.label, ClientSession.used_at).where(
            ClientSession.account_id == bindparam("account")
        )
        clients = clients.where(ClientSession.expires_at > bindparam("now")).order_by(
            ClientSession.used_at.desc(), ClientSession.id
        )
        self._clients = reader.prepare(clients)
        pages = select(PageSession.id, PageSession.label, PageSession.used_at)
        pages = pages.where(PageSession.account_id == bindparam("account"), PageSession.used_at > bindparam("idle"))
        pages = pages.where(PageSession.created_at > bindparam("oldest"))
        self._pages = reader.prepare(pages.order_by(PageSession.used_at.desc(), PageSession.id))
        active = select(Authenticator.account_id).where(Authenticator.account_id == bindparam("account"))
        self._factor = reader.prepare(active)

    def overview(self, account: int) -> AccountOverview:
        """The account's logins and everywhere that it is signed in; what has ended is left out."""
        rows, time = self.reader.rows, now()
        since = {"oldest": to_micros(time - SESSION_LIFETIME), "idle": to_micros(time - SESSION_IDLE)}
        return AccountOverview(
            [LoginMethod._make((*row[:4], bool(row[4]))) for row in rows(self._ways, account=account)],
            _places(rows(self._clients, account=account, now=to_micros(time))),
            _places(rows(self._pages, account=account, **since)),
            self.has_factor(account),
        )

    def has_factor(self, account: int) -> bool:
        """Whether the account has an authenticator."""
        return bool(self.reader.rows(self._factor, account=account))

    def login(self, login_id: int) -> LoginRecord | None:
        """The login with this id; None when it has been deleted."""
        rows = self.reader.rows(self._login, id=login_id)
        return _found(rows[0]) if rows else None

    def made_with(self, found: LoginRecord) -> tuple[str, bool]:
        """(subject, whether it is confirmed) of the login that the account was made with (C-ACC-13).

        Of the oldest of its kind; of ``found`` itself where none of that kind is left.
        """
        rows = self.reader.rows(self._made_with, account=found.account_id)
        return (rows[0][0], bool(rows[0][1])) if rows else (found.subject, found.verified)

    def page_session(self, held: str, oldest: datetime, idle: datetime) -> tuple[LoginRecord, datetime] | None:
        """Who holds the page session of this hash, and when it was last used; None when it has ended."""
        rows = self.reader.rows(self._session, held=held, oldest=to_micros(oldest), idle=to_micros(idle))
        if not rows:
            return None
        *login, session_id, proved_at, began, used_at = rows[0]
        proved = None if proved_at is None else from_micros(proved_at)
        found = replace(_found(login), session_id=session_id, proved_at=proved, signed_in_at=from_micros(began))
        return found, from_micros(used_at)

    def by_address(self, address: str | None) -> PasswordLogin | None:
        """The login by password with this address; None asks all the same, so that nothing takes another time."""
        rows = self.reader.rows(self._address, subject=address or "")
        return _secretive(rows[0]) if rows else None

    def password_of(self, account_id: int) -> PasswordLogin | None:
        """The account's login by password; None when it has none."""
        rows = self.reader.rows(self._password, account=account_id)
        return _secretive(rows[0]) if rows else None


def _found(row: Row) -> LoginRecord:
    # SQLite's driver has no booleans.
    login_id, account_id, kind, display_name, login_kind, subject, verified, blocked = row
    return LoginRecord(login_id, account_id, kind, display_name, login_kind, subject, bool(verified), bool(blocked))


def _places(rows: list[Row]) -> list[SessionInfo]:
    return [SessionInfo(place_id, label, from_micros(used_at)) for place_id, label, used_at in rows]


def _secretive(row: Row) -> PasswordLogin:
    login_id, account_id, verified, factor, blocked, subject, password_hash = row
    return PasswordLogin(login_id, account_id, bool(verified), bool(factor), bool(blocked), subject, password_hash)
