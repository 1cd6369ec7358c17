"""The account's own page: its name, its logins, where it is signed in (decisions 3.10)."""

from typing import Any, Final

from sqlalchemy import delete, select

from modhub import text
from modhub.errors import not_found
from modhub.limits import DISPLAY_NAME
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.tree import parse_id
from modhub.views import page
from modhub_auth import platforms, recovery, sessions
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import counter
from modhub_auth.models import Client, Kind, Login
from modhub_auth.pages.agents import spoken
from modhub_auth.pages.proof import locked, proved, tell, visitor
from modhub_auth.pages.sheets import SHEET, Sheet, private, sent, unstored
from modhub_auth.pages.signing import HOME
from modhub_auth.pages.words import title_of
from modhub_auth.parts import parts
from modhub_auth.resources import AccountPermission

OVERVIEW: Final = "modhub_auth:templates/account/overview.jinja2"
DONE: Final = {
    "name": "Your name is changed.",
    "password": "Your password is changed.",
    "removed": "The authenticator is removed.",
    "linked": "The login is linked.",
    "unlinked": "The login is unlinked.",
    "ended": "Signed out there.",
    "letter": "If you have not had too many emails already, another one is on its way.",
}
"""What the page says that has just been done, by the query's ``done``."""


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
        "unconfirmed": [login.subject for login in own.logins if not login.verified],
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


def unlink_sheet(_context: Any, request: Request) -> Sheet:
    """The login that goes, ``loginId``; 404 for one that is none of the visitor's at a platform."""
    login_id, own = parse_id(sent(request, "loginId") or query(request, "loginId") or ""), parts(request)
    logins = own.finder.overview(visitor(request).account_id).logins
    found = next((one for one in logins if one.id == login_id and one.kind == Kind.PLATFORM), None)
    if found is None:
        raise not_found()
    return Sheet(
        "Unlink a login",
        "Unlink",
        [],
        lead=[f"{found.subject} ({title_of(request, found.platform)})", "It will no longer sign in to your account."],
        hidden={"loginId": str(found.id)},
        links=[(HOME, "Your account")],
        danger=True,
    )


@page(
    context=IAccount,
    name="unlink",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=SHEET,
    fresh_proof=unlink_sheet,
)
def unlink(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/unlink``: ``loginId`` is a platform's login, never the last one."""
    account, _ = proved(request)
    if platforms.unlink(request.dbsession, account.id, parse_id(sent(request, "loginId"))):
        tell(request, "login unlinked")
    return done("unlinked")
