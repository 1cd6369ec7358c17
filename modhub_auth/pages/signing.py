"""Pages for those who are not signed in yet: register, sign in; and the way out."""

from typing import Any, Final
from urllib.parse import quote

from modhub.errors import Refusal
from modhub.identity import NOBODY, Credential
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_auth import addresses, joining, services, sessions
from modhub_auth.cookies import keep, leave, safe_next
from modhub_auth.finding import Found
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of
from modhub_auth.models import Account, Login
from modhub_auth.pages.agents import agent_of
from modhub_auth.pages.choosing import judge_of
from modhub_auth.pages.sheets import SHEET, Field, Sheet, sent, unstored
from modhub_auth.parts import parts
from modhub_auth.payloads import Registration
from modhub_auth.signing import Credentials, check

HOME: Final = "/Modhub/account"


def new_password(request: Request, label: str, *told: str) -> Field:
    """The field for a password that is chosen; ``told``: the account's name and address, which make poor ones."""
    hint = "At least 10 characters; longer is better."
    return Field("password", label, "password", "new-password", hint=hint, check=judge_of(request, *told))


def enter(
    request: Request, account: Account, login: Login, wanted: str | None = None, *, by_platform: bool = False
) -> Any:
    """Sign the visitor in with a session of its own, and go where they wanted to."""
    _end_current(request)
    secret = sessions.begin(request.dbsession, account, login, agent_of(request), proved=by_platform)
    return unstored(keep(request, Redirect(safe_next(wanted) or _wanted(request) or HOME), secret))


def _end_current(request: Request) -> None:
    """A session that the browser still had is not taken over, but ended (session fixation)."""
    found: Found | None = request.identify(Credential.ACCOUNT).details
    if found is not None and found.session_id is not None:
        sessions.end(request.dbsession, found.account_id, found.session_id)


def _wanted(request: Request) -> str | None:
    """Where the visitor wants to go afterwards: the form says so, else its address."""
    return safe_next(sent(request, "next") or query(request, "next"))


def _kept(request: Request) -> dict[str, str]:
    wanted = _wanted(request)
    return {"next": wanted} if wanted else {}


def _onward(request: Request) -> str:
    wanted = _wanted(request)
    return f"?next={quote(wanted, safe='/')}" if wanted else ""


def login_sheet(request: Request, *, code: bool = False) -> Sheet:
    """Address, password, code; ``code``: this account asks for one."""
    onward = _onward(request)
    links = [(f"{HOME}/forgot", "Forgot your password?")]
    if request.registry.settings["modhub_auth.registration"]:
        links.append((f"{HOME}/register{onward}", "Make an account"))
    messages = messages_of(request)
    doors = [
        (f"{HOME}/platform/{one.name}{onward}", messages.gettext("Sign in with %(name)s", name=one.title))
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
                "Code of your authenticator",
                complete="one-time-code",
                required=code,
                hint="Only if your account has one: its six digits, or one of your recovery codes.",
            ),
        ],
        links=links,
        doors=doors,
        hidden=_kept(request),
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
        return login_sheet(request, code=refusal.code == "second_factor_required").refused(request, refusal)


def register_sheet(request: Request) -> Sheet:
    """Address, password, name."""
    return Sheet(
        "Make an account",
        "Make the account",
        [
            Field("email", "E-mail address", "email", "username", check=addresses.require),
            new_password(request, "Password"),
            Field(
                "displayName",
                "Name",
                complete="nickname",
                required=False,
                hint="Shown beside your mods. If you leave it empty, one is made up.",
            ),
        ],
        lead=["An account is for those who publish mods or vote. Reading and downloading never need one."],
        links=[(f"{HOME}/login{_onward(request)}", "Sign in instead"), (f"{HOME}/forgot", "Forgot your password?")],
        hidden=_kept(request),
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
        sheet = register_sheet(request)
        wrong = sheet.faults(request)
        if wrong:
            return sheet.refused(request, *wrong)
        name, messages = given.clean_display_name(), messages_of(request)
        prepared = joining.prepare(own, request.registry.settings, given.email, given.password, name)
        return enter(request, *joining.join(request.dbsession, own.writer, prepared, name, messages))
    except Refusal as refusal:
        return register_sheet(request).refused(request, refusal)


@page(context=IAccount, name="logout", request_method="GET", permission=OPEN, renderer=SHEET)
def logout_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/logout``"""
    lead = ["This signs you out in this browser alone."]
    return Sheet("Sign out", "Sign out", [], lead=lead, links=[(HOME, "Your account")]).show(request)


@page(context=IAccount, name="logout", request_method="POST", permission=OPEN)
def logout(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/logout``"""
    if request.identify(Credential.ACCOUNT) is not NOBODY:
        _end_current(request)
    return unstored(leave(request, Redirect("/Modhub")))
