"""Pages for those who are not signed in yet: register, sign in; and the way out."""

from typing import Any, Final
from urllib.parse import quote

from modhub.errors import Refusal
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.security import NOBODY, Credential
from modhub.views import OPEN, page
from modhub_auth import joining, services, sessions
from modhub_auth.cookies import keep, leave, safe_next
from modhub_auth.finding import Found
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of
from modhub_auth.models import Account, Login
from modhub_auth.pages.sheets import SHEET, Field, Sheet, sent
from modhub_auth.parts import parts
from modhub_auth.payloads import Registration
from modhub_auth.signing import Credentials, check

HOME: Final = "/Modhub/account"
BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""What a browser's name for itself holds; of several the first."""


def agent_of(request: Request) -> str:
    """The label of a browser's session: ``Firefox on Linux``, or what it calls itself."""
    sent_as: str = request.environ.get("HTTP_USER_AGENT", "")
    agent = sent_as.encode("latin-1", "replace").decode("utf-8", "replace")
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if browser and system else agent


def enter(request: Request, account: Account, login: Login, wanted: str | None = None) -> Any:
    """Sign the visitor in with a session of its own, and go where they wanted to."""
    _end_current(request)
    secret = sessions.begin(request.dbsession, account, login, agent_of(request))
    return keep(request, Redirect(safe_next(wanted or query(request, "next")) or HOME), secret)


def _end_current(request: Request) -> None:
    """A session that the browser still had is not taken over, but ended (session fixation)."""
    found: Found | None = request.identify(Credential.ACCOUNT).details
    if found is not None and found.session_id is not None:
        sessions.end(request.dbsession, found.account_id, found.session_id)


def _onward(request: Request) -> str:
    wanted = safe_next(query(request, "next"))
    return f"?next={quote(wanted, safe='/')}" if wanted else ""


def login_sheet(request: Request) -> Sheet:
    """Address, password, code."""
    onward = _onward(request)
    links = [(f"{HOME}/forgot", "Forgot your password?")]
    if request.registry.settings["modhub_auth.registration"]:
        links.append((f"{HOME}/register{onward}", "Make an account"))
    links += [
        (f"{HOME}/platform/{one.name}{onward}", f"Sign in with {one.title}")
        for one in parts(request).platforms.values()
    ]
    return Sheet(
        "Sign in",
        "Sign in",
        [
            Field("email", "E-mail address", "email", "username"),
            Field("password", "Password", "password", "current-password"),
            Field(
                "code",
                "Code",
                complete="one-time-code",
                required=False,
                hint="Only if your account has an authenticator: its code, or one of your recovery codes.",
            ),
        ],
        links=links,
    )


@page(context=IAccount, name="login", request_method="GET", permission=OPEN, renderer=SHEET)
def login_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/login``"""
    return login_sheet(request).show(request)


@page(context=IAccount, name="login", request_method="POST", permission=OPEN, renderer=SHEET)
def login(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/login``"""
    given = Credentials(
        sent(request, "email"), sent(request, "password"), sent(request, "code").strip(), caller_of(request)
    )
    try:
        checked = check(parts(request), request.registry.settings, given)
        return enter(request, *services.still_right(request.dbsession, checked))
    except Refusal as refusal:
        return login_sheet(request).refused(request, refusal)


def register_sheet(request: Request) -> Sheet:
    """Address, password, name."""
    return Sheet(
        "Make an account",
        "Make the account",
        [
            Field("email", "E-mail address", "email", "username"),
            Field("password", "Password", "password", "new-password", hint="At least 10 characters."),
            Field(
                "displayName",
                "Name",
                complete="nickname",
                required=False,
                hint="Shown beside your mods. Leave it empty and one is made up.",
            ),
        ],
        lead=["An account is for those who publish mods. Reading and downloading needs none."],
        links=[(f"{HOME}/login{_onward(request)}", "Sign in instead")],
    )


@page(context=IAccount, name="register", request_method="GET", permission=OPEN, renderer=SHEET)
def register_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/register``"""
    if not request.registry.settings["modhub_auth.registration"]:
        raise services.registration_closed()
    return register_sheet(request).show(request)


@page(context=IAccount, name="register", request_method="POST", permission=OPEN, renderer=SHEET)
def register(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/register``"""
    own = parts(request)
    given = Registration(
        email=sent(request, "email"), password=sent(request, "password"), display_name=sent(request, "displayName")
    )
    try:
        joining.admit(own, request.registry.settings, caller_of(request))
        prepared = joining.prepare(own, given.email, given.password)
        name, messages = given.clean_display_name(), messages_of(request)
        return enter(request, *joining.join(request.dbsession, own.writer, prepared, name, messages))
    except Refusal as refusal:
        return register_sheet(request).refused(request, refusal)


@page(context=IAccount, name="logout", request_method="GET", permission=OPEN, renderer=SHEET)
def logout_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/logout``"""
    return Sheet("Sign out", "Sign out", []).show(request)


@page(context=IAccount, name="logout", request_method="POST", permission=OPEN)
def logout(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/logout``"""
    if request.identify(Credential.ACCOUNT) is not NOBODY:
        _end_current(request)
    return leave(request, Redirect("/Modhub"))
