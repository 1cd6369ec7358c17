"""Pages for those who are not signed in yet: register, sign in; and the way out."""

from typing import Any, Final
from urllib.parse import quote

from modhub.errors import ApiError
from modhub.payload import query
from modhub.request import Request
from modhub.security.identity import NOBODY, CredentialKind
from modhub.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.views import OPEN, page
from modhub_auth import email_addresses, services
from modhub_auth.container import auth_services
from modhub_auth.interfaces import IAccount
from modhub_auth.models import Account, Login
from modhub_auth.pages.form_pages import FORM_TEMPLATE, FormField, FormPage, never_stored, sent_value
from modhub_auth.pages.password_field import password_check
from modhub_auth.pages.user_agents import agent_of
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import LoginRecord
from modhub_auth.request_schemas import Registration
from modhub_auth.signin import page_sessions, registration
from modhub_auth.signin.authentication import Credentials, authenticate
from modhub_auth.signin.session_cookies import clear_session_cookie, safe_next, set_session_cookie

HOME: Final = "/Modhub/account"


def new_password_field(request: Request, label: str, *told: str) -> FormField:
    """The field for a password that is chosen; ``told``: the account's name and address, which make poor ones."""
    hint = N_("At least 10 characters; longer is better.")
    return FormField("password", label, "password", "new-password", hint=hint, check=password_check(request, *told))


def enter(
    request: Request, account: Account, login: Login, wanted: str | None = None, *, by_platform: bool = False
) -> Any:
    """Sign the visitor in with a session of its own, and go where they wanted to."""
    _end_current(request)
    secret = page_sessions.begin_page_session(request.dbsession, account, login, agent_of(request), proved=by_platform)
    return never_stored(set_session_cookie(request, Redirect(safe_next(wanted) or _wanted(request) or HOME), secret))


def _end_current(request: Request) -> None:
    """A session that the browser still had is not taken over, but ended (session fixation)."""
    found: LoginRecord | None = request.identify(CredentialKind.ACCOUNT).details
    if found is not None and found.session_id is not None:
        page_sessions.end_page_session(request.dbsession, found.account_id, found.session_id)


def _wanted(request: Request) -> str | None:
    """Where the visitor wants to go afterwards: the form says so, else its address."""
    return safe_next(sent_value(request, "next") or query(request, "next"))


def _kept(request: Request) -> dict[str, str]:
    wanted = _wanted(request)
    return {"next": wanted} if wanted else {}


def _onward(request: Request) -> str:
    wanted = _wanted(request)
    return f"?next={quote(wanted, safe='/')}" if wanted else ""


def login_form(request: Request, *, code: bool = False) -> FormPage:
    """Address, password, code; ``code``: this account asks for one."""
    onward = _onward(request)
    links = [(f"{HOME}/forgot", N_("Forgot your password?"))]
    if request.registry.settings["modhub_auth.registration"]:
        links.append((f"{HOME}/register{onward}", N_("Create an account")))
    messages = translations_for(request)
    doors = [
        (f"{HOME}/platform/{one.name}{onward}", messages.gettext("Sign in with %(name)s", name=one.title))
        for one in auth_services(request).platforms.values()
    ]
    return FormPage(
        N_("Sign in"),
        N_("Sign in"),
        [
            FormField("email", N_("Email address"), "email", "username"),
            FormField("password", N_("Password"), "password", "current-password"),
            FormField(
                "code",
                N_("Authenticator code"),
                complete="one-time-code",
                required=code,
                hint=N_(
                    "Only if your account has an authenticator: the six digits it shows, or one of your recovery codes."
                ),
            ),
        ],
        links=links,
        doors=doors,
        hidden=_kept(request),
    )


@page(context=IAccount, name="login", request_method="GET", permission=OPEN, renderer=FORM_TEMPLATE)
def login_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/login``"""
    return login_form(request).show(request)


@page(context=IAccount, name="login", request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def login_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/login``"""
    given = Credentials(
        sent_value(request, "email"),
        sent_value(request, "password"),
        sent_value(request, "code").strip(),
        caller_of(request),
    )
    try:
        checked = authenticate(auth_services(request), request.registry.settings, given)
        return enter(request, *services.still_right(request.dbsession, checked))
    except ApiError as refusal:
        return login_form(request, code=refusal.code == "second_factor_required").refused(request, refusal)


def register_form(request: Request) -> FormPage:
    """Address, password, name."""
    return FormPage(
        N_("Create an account"),
        N_("Create account"),
        [
            FormField("email", N_("Email address"), "email", "username", check=email_addresses.require_address),
            new_password_field(request, N_("Password")),
            FormField(
                "displayName",
                "Name",
                complete="nickname",
                required=False,
                hint=N_("Shown with your mods. Leave it empty and we pick one."),
            ),
        ],
        lead=[N_("You need an account to publish mods or to vote. You never need one to browse or download.")],
        links=[
            (f"{HOME}/login{_onward(request)}", N_("Sign in instead")),
            (f"{HOME}/forgot", N_("Forgot your password?")),
        ],
        hidden=_kept(request),
    )


@page(context=IAccount, name="register", request_method="GET", permission=OPEN, renderer=FORM_TEMPLATE)
def register_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/register``"""
    if not request.registry.settings["modhub_auth.registration"]:
        raise services.registration_closed()
    return register_form(request).show(request)


@page(context=IAccount, name="register", request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def register_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/register``"""
    own = auth_services(request)
    given = Registration(
        email=sent_value(request, "email"),
        password=sent_value(request, "password"),
        display_name=sent_value(request, "displayName"),
    )
    try:
        registration.check_open(own, request.registry.settings, caller_of(request))
        sheet = register_form(request)
        wrong = sheet.faults(request)
        if wrong:
            return sheet.refused(request, *wrong)
        name, messages = given.clean_display_name(), translations_for(request)
        prepared = registration.validate_registration(own, request.registry.settings, given.email, given.password, name)
        return enter(request, *registration.create_account(request.dbsession, own.writer, prepared, name, messages))
    except ApiError as refusal:
        return register_form(request).refused(request, refusal)


@page(context=IAccount, name="logout", request_method="GET", permission=OPEN, renderer=FORM_TEMPLATE)
def logout_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/logout``"""
    lead = [N_("This signs you out in this browser only.")]
    return FormPage("Sign out", "Sign out", [], lead=lead, links=[(HOME, "Your account")]).show(request)


@page(context=IAccount, name="logout", request_method="POST", permission=OPEN)
def logout_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/logout``"""
    if request.identify(CredentialKind.ACCOUNT) is not NOBODY:
        _end_current(request)
    return never_stored(clear_session_cookie(request, Redirect("/Modhub")))
