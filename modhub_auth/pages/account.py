"""The account's own page: its name, its logins, where it is signed in; and its password (decisions 3.10)."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub import text
from modhub.errors import Refusal
from modhub.limits import DISPLAY_NAME
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.security import Credential
from modhub.tree import parse_id
from modhub.views import page
from modhub_auth import addresses, factor, platforms, recovery, services, sessions
from modhub_auth.cookies import keep
from modhub_auth.finding import Found
from modhub_auth.interfaces import IAccount
from modhub_auth.joining import Prepared
from modhub_auth.journal import note
from modhub_auth.limits import caller_of, counter
from modhub_auth.models import Account, Client, Login, PageSession
from modhub_auth.pages.sheets import SHEET, Field, Sheet, private, sent
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts
from modhub_auth.passwords import accepted
from modhub_auth.resources import AccountPermission
from modhub_auth.signing import prove

OVERVIEW: Final = "modhub_auth:templates/account/overview.jinja2"


@dataclass(frozen=True, slots=True)
class Overview:
    """What the account's page shows."""

    account: Account
    logins: list[Login]
    clients: list[Client]
    pages: list[PageSession]
    factor: bool


def visitor(request: Request) -> Found:
    """Who is signed in; only behind a permission that asks for an account."""
    found: Found = request.identify(Credential.ACCOUNT).details
    return found


def overview(session: Session, account_id: int) -> Overview:
    """The account with its logins and everywhere that it is signed in."""
    return Overview(
        session.scalars(select(Account).where(Account.id == account_id)).one(),
        list(session.scalars(select(Login).where(Login.account_id == account_id).order_by(Login.id))),
        list(session.scalars(select(Client).where(Client.account_id == account_id).order_by(Client.used_at.desc()))),
        list(
            session.scalars(
                select(PageSession).where(PageSession.account_id == account_id).order_by(PageSession.used_at.desc())
            )
        ),
        factor.is_active(session, account_id),
    )


@page(context=IAccount, request_method="GET", permission=AccountPermission.READ, renderer=OVERVIEW)
def show(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account``"""
    private(request)
    found = visitor(request)
    return {
        "found": found,
        "own": overview(request.dbsession, found.account_id),
        "limit": DISPLAY_NAME,
        "platforms": parts(request).platforms.values(),
    }


@page(context=IAccount, name="name", request_method="POST", permission=AccountPermission.CHANGE)
def rename(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/name``: an empty name changes nothing."""
    account = locked(request)
    account.display_name = text.line(sent(request, "displayName"), DISPLAY_NAME) or account.display_name
    request.dbsession.flush()
    return Redirect(HOME)


@page(context=IAccount, name="sign-out", request_method="POST", permission=AccountPermission.CHANGE)
def sign_out(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/sign-out``: one ``client``, one page ``session``, or all but this page."""
    session, found = request.dbsession, visitor(request)
    locked(request)
    client, other = parse_id(sent(request, "clientId")), parse_id(sent(request, "sessionId"))
    if client is not None:
        session.execute(delete(Client).where(Client.id == client, Client.account_id == found.account_id))
    elif other is not None:
        sessions.end(session, found.account_id, other)
    else:
        recovery.end_sessions(session, found.account_id, keep=found.session_id)
    return Redirect(HOME)


@page(context=IAccount, name="unlink", request_method="POST", permission=AccountPermission.CHANGE)
def unlink(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/unlink``: ``loginId`` is a platform's login, never the last one."""
    platforms.unlink(request.dbsession, locked(request).id, parse_id(sent(request, "loginId")))
    return Redirect(HOME)


def locked(request: Request) -> Account:
    """The visitor's account, its row locked until the end of the request."""
    account = services.lock_account(request.dbsession, visitor(request).account_id)
    if account is None:
        raise services.invalid_credentials()
    return account


def proved(request: Request) -> tuple[Account, Login | None]:
    """The account, locked, and its login by password, of which the visitor has just proved to know the password."""
    account_id, password = visitor(request).account_id, sent(request, "currentPassword")
    known = prove(parts(request), request.registry.settings, account_id, password, caller_of(request))
    return (locked(request), None) if known is None else services.still_right(request.dbsession, known)


def current_password(request: Request) -> list[Field]:
    """The field that asks for it, where the account has a password."""
    if parts(request).finder.password_of(visitor(request).account_id) is None:
        return []
    return [Field("currentPassword", "Current password", "password", "current-password")]


def password_sheet() -> Sheet:
    """The old and the new password."""
    return Sheet(
        "Change your password",
        "Change it",
        [
            Field("currentPassword", "Current password", "password", "current-password"),
            Field("password", "New password", "password", "new-password", hint="At least 10 characters."),
        ],
        links=[(HOME, "Your account")],
    )


def new_password_sheet() -> Sheet:
    """The address and the password for an account that has neither."""
    return Sheet(
        "Add a password",
        "Send a letter",
        [
            Field("email", "E-mail address", "email", "username"),
            Field("password", "Password", "password", "new-password", hint="At least 10 characters."),
        ],
        lead=["The password works once you have followed the link in the letter."],
        links=[(HOME, "Your account")],
    )


def ask_password(request: Request) -> dict[str, Any]:
    """The same page whether the address is taken or not: that is told by letter (decisions 3.10)."""
    own, sheet = parts(request), new_password_sheet()
    try:
        address, chosen = addresses.require(sent(request, "email")), accepted(sent(request, "password"))
        most = request.registry.settings["modhub_auth.forgot_limit"]
        own.limits.count([counter("forgot", caller_of(request), most)])
        prepared = Prepared(address, own.passwords.hash(chosen))
    except Refusal as refusal:
        return sheet.refused(request, refusal)
    account = locked(request)
    platforms.ask_password(request.dbsession, own, account.id, prepared, messages_of(request))
    sheet.lead = ["A letter is on its way. The password works once you have followed its link."]
    return sheet.show(request)


@page(context=IAccount, name="password", request_method="GET", permission=AccountPermission.CHANGE, renderer=SHEET)
def password_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/password``"""
    return (password_sheet() if current_password(request) else new_password_sheet()).show(request)


@page(context=IAccount, name="password", request_method="POST", permission=AccountPermission.CHANGE, renderer=SHEET)
def change_password(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/password``: the session gets another secret; who is signed in elsewhere stays."""
    own, found = parts(request), visitor(request)
    if not current_password(request):
        return ask_password(request)
    try:
        chosen = own.passwords.hash(accepted(sent(request, "password")))
        _, login = proved(request)
    except Refusal as refusal:
        return password_sheet().refused(request, refusal)
    if login is None:
        return Redirect(f"{HOME}/password")
    recovery.set_password(request.dbsession, login, chosen)
    recovery.notify(request.dbsession, own.writer, found.account_id, "password changed", messages_of(request))
    note("password changed", account=found.account_id, login=login.id)
    return rotated(request, Redirect(HOME))


def rotated(request: Request, response: Any) -> Any:
    """What has changed who may do what gives the session another secret (threats C12)."""
    session_id = visitor(request).session_id
    assert session_id is not None
    return keep(request, response, sessions.rotate(request.dbsession, session_id))
