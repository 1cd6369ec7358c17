"""The account's own page: its name, its logins, where it is signed in (decisions 3.10); what such pages share."""

from typing import Any, Final

from sqlalchemy import delete, select

from modhub import text
from modhub.identity import Credential
from modhub.limits import DISPLAY_NAME
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.tree import parse_id
from modhub.views import page
from modhub_auth import platforms, recovery, services, sessions
from modhub_auth.cookies import keep
from modhub_auth.finding import Found, Secretive
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of, counter
from modhub_auth.models import Account, Client, Login
from modhub_auth.pages.agents import spoken
from modhub_auth.pages.sheets import Field, private, sent, unstored
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts
from modhub_auth.resources import AccountPermission
from modhub_auth.signing import prove

OVERVIEW: Final = "modhub_auth:templates/account/overview.jinja2"
DONE: Final = {
    "name": "Your name is changed.",
    "password": "Your password is changed.",
    "removed": "The authenticator is removed.",
    "unlinked": "The login is unlinked.",
    "ended": "Signed out there.",
    "letter": "If you have not had too many letters already, another one is on its way.",
}
"""What the page says that has just been done, by the query's ``done``."""


def visitor(request: Request) -> Found:
    """Who is signed in; only behind a permission that asks for an account."""
    found: Found = request.identify(Credential.ACCOUNT).details
    return found


@page(context=IAccount, request_method="GET", permission=AccountPermission.READ, renderer=OVERVIEW)
def show(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account``"""
    private(request)
    found = visitor(request)
    messages = messages_of(request)
    own = parts(request).finder.overview(found.account_id)
    return {
        "found": found,
        "own": own,
        "pages": [(one, spoken(one.label, messages)) for one in own.pages],
        "done": DONE.get(query(request, "done") or ""),
        "unconfirmed": any(not login.verified for login in own.logins),
        "limit": DISPLAY_NAME,
        "titles": {one.name: one.title for one in parts(request).platforms.values()},
    }


def done(what: str) -> Any:
    """To the account's page, which says what has been done."""
    return unstored(Redirect(f"{HOME}?done={what}"))


@page(context=IAccount, name="name", request_method="POST", permission=AccountPermission.CHANGE)
def rename(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/name``: an empty name changes nothing."""
    account = locked(request)
    name = text.line(sent(request, "displayName"), DISPLAY_NAME)
    if not name:
        return Redirect(HOME)
    account.display_name = name
    request.dbsession.flush()
    return done("name")


@page(context=IAccount, name="letter", request_method="POST", permission=AccountPermission.CHANGE)
def send_again(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/letter``: the letter that confirms the address, once more; the link before it dies."""
    own, session = parts(request), request.dbsession
    account = locked(request)
    waiting = select(Login).where(Login.account_id == account.id, Login.verified.is_(False))
    for login in session.scalars(waiting).all():
        if own.limits.allows(session, [counter("letter", login.subject, recovery.LETTERS)]):
            recovery.welcome(session, own.writer, login, messages_of(request))
    return done("letter")


@page(context=IAccount, name="sign-out", request_method="POST", permission=AccountPermission.CHANGE)
def sign_out(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/sign-out``: one ``client``, one page ``session``, or all but this page."""
    session, found = request.dbsession, visitor(request)
    locked(request)
    # An id that cannot be read names nobody: it must not end all the others.
    client, other = sent(request, "clientId"), sent(request, "sessionId")
    if client:
        session.execute(
            delete(Client).where(Client.id == (parse_id(client) or 0), Client.account_id == found.account_id)
        )
    elif other:
        sessions.end(session, found.account_id, parse_id(other) or 0)
    else:
        recovery.end_sessions(session, found.account_id, keep=found.session_id)
    return done("ended")


@page(context=IAccount, name="unlink", request_method="POST", permission=AccountPermission.CHANGE)
def unlink(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/unlink``: ``loginId`` is a platform's login, never the last one."""
    account, login_id = locked(request), parse_id(sent(request, "loginId"))
    platforms.unlink(request.dbsession, parts(request).writer, account.id, login_id, messages_of(request))
    return done("unlinked")


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


def own_password(request: Request) -> Secretive | None:
    """The visitor's login by password; None where the account has none."""
    return parts(request).finder.password_of(visitor(request).account_id)


def current_password(request: Request) -> list[Field]:
    """The field that asks for it, where the account has a password."""
    if own_password(request) is None:
        return []
    return [Field("currentPassword", "Current password", "password", "current-password")]


def rotated(request: Request, response: Any) -> Any:
    """What has changed who may do what gives the session another secret (threats C12)."""
    session_id = visitor(request).session_id
    assert session_id is not None
    return keep(request, response, sessions.rotate(request.dbsession, session_id))
