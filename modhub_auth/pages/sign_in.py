"""The pages to register, sign in and sign out."""

from typing import Any, Final
from urllib.parse import quote

from modhub.base.errors import ApiError
from modhub.base.identity import NOBODY, CredentialKind
from modhub.content.text import N_
from modhub.ui import forms
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_auth import email_addresses, services
from modhub_auth.container import auth_services
from modhub_auth.interfaces import IAccount
from modhub_auth.models import Account, Login
from modhub_auth.pages import code_step
from modhub_auth.pages.blocked import links_for_blocked
from modhub_auth.pages.form_pages import FORM_TEMPLATE, FormField, FormPage, form_value, never_stored
from modhub_auth.pages.password_field import password_check
from modhub_auth.pages.user_agents import user_agent_label
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import LoginRecord
from modhub_auth.request_schemas import Registration
from modhub_auth.signin import page_sessions, registration
from modhub_auth.signin.authentication import Credentials, authenticate
from modhub_auth.signin.session_cookies import clear_session_cookie, safe_next, set_session_cookie

HOME: Final = "/Modhub/account"
SECOND_FACTOR: Final = "second_factor_required"


def new_password_field(request: Request, label: str, *personal: str) -> FormField:
    """The field for a new password; ``personal``: the account's name and address, which make weak passwords."""
    hint = N_("At least 10 characters; longer is better.")
    return FormField("password", label, "password", "new-password", hint=hint, check=password_check(request, *personal))


def start_session(
    request: Request, account: Account, login: Login, next_path: str | None = None, *, by_platform: bool = False
) -> Any:
    """Sign the visitor in with a new session, and redirect to the page that they wanted."""
    _end_current(request)
    secret = page_sessions.begin_page_session(
        request.dbsession, account, login, user_agent_label(request), proved=by_platform
    )
    redirect = Redirect(safe_next(next_path) or _next_path(request) or HOME)
    return never_stored(set_session_cookie(request, redirect, secret))


def _end_current(request: Request) -> None:
    """End the browser's earlier session instead of taking it over (session fixation)."""
    login: LoginRecord | None = request.identify(CredentialKind.ACCOUNT).details
    if login is not None and login.session_id is not None:
        page_sessions.end_page_session(request.dbsession, login.account_id, login.session_id)


def _next_path(request: Request) -> str | None:
    """The page to show afterwards, from the form or the query."""
    return safe_next(form_value(request, "next") or query(request, "next"))


def _next_field(request: Request) -> dict[str, str]:
    next_path = _next_path(request)
    return {"next": next_path} if next_path else {}


def _next_query(request: Request) -> str:
    next_path = _next_path(request)
    return f"?next={quote(next_path, safe='/')}" if next_path else ""


def login_form(request: Request) -> FormPage:
    """The sign-in form; a code is asked for after the password (:mod:`modhub_auth.pages.code_step`)."""
    next_query = _next_query(request)
    links = [(f"{HOME}/forgot", N_("Forgot your password?"))]
    if request.registry.settings["modhub_auth.registration"]:
        links.append((f"{HOME}/register{next_query}", N_("Create an account")))
    messages = translations_for(request)
    alternatives = [
        (f"{HOME}/platform/{platform.name}{next_query}", messages.gettext("Sign in with %(name)s", name=platform.title))
        for platform in auth_services(request).platforms.values()
    ]
    return FormPage(
        N_("Sign in"),
        N_("Sign in"),
        [
            FormField("email", N_("Email address"), "email", "username"),
            FormField("password", N_("Password"), "password", "current-password"),
        ],
        links=links,
        alternatives=alternatives,
        # For programs that fill the form in and know the code: one request signs in.
        hidden={"code": "", **_next_field(request)},
    )


@page(context=IAccount, name="login", request_method="GET", permission=OPEN, renderer=FORM_TEMPLATE)
def login_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/login``"""
    return login_form(request).show(request)


@page(context=IAccount, name="login", request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def login_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/login``, with the code or followed by a second step that asks for it."""
    if code_step.is_code_step(request):
        return _submit_code(request)
    credentials = Credentials(
        form_value(request, "email"),
        form_value(request, "password"),
        form_value(request, "code").strip(),
        caller_of(request),
    )
    auth = auth_services(request)
    try:
        checked_login = authenticate(auth, request.registry.settings, credentials)
        return start_session(request, *services.lock_checked_login(request.dbsession, checked_login))
    except ApiError as error:
        if error.code != SECOND_FACTOR:
            return _refuse(request, error)
        # The password was right.
        login = auth.account_reader.password_login_by_address(email_addresses.parse_address(credentials.email))
        if login is not None:
            code_step.remember_password(request, request.response, login)
        return _code_page(request, error)


def _submit_code(request: Request) -> Any:
    try:
        checked_login = code_step.check_code(request)
        response = start_session(request, *services.lock_checked_login(request.dbsession, checked_login))
    except ApiError as error:
        if error.code == SECOND_FACTOR:
            return _code_page(request, error)
        code_step.forget_password(request, request.response)
        return _refuse(request, error)
    return code_step.forget_password(request, response)


def _refuse(request: Request, error: ApiError) -> dict[str, Any]:
    """The form again. Who has shown that a blocked account is theirs can read why it is."""
    form = login_form(request)
    form.links = [*links_for_blocked(request, error), *form.links]
    return form.show_errors(request, error)


def _code_page(request: Request, error: ApiError) -> dict[str, Any]:
    """The second step; that a code is missing is no error yet, but its status says that nobody is signed in."""
    form = code_step.code_form(_next_field(request), f"{HOME}/login{_next_query(request)}")
    if form_value(request, "code").strip() or code_step.is_code_step(request):
        return form.show_errors(request, error)
    forms.set_error_status(request, error)
    return form.show(request)


def register_form(request: Request) -> FormPage:
    """The registration form."""
    return FormPage(
        N_("Create an account"),
        N_("Create account"),
        [
            FormField("email", N_("Email address"), "email", "username", check=email_addresses.require_address),
            new_password_field(request, N_("Password")),
            FormField(
                "displayName",
                "Name",
                autocomplete="nickname",
                required=False,
                hint=N_("Shown with your mods. If you leave it empty, we'll pick one."),
            ),
        ],
        lead=[N_("You only need an account to publish mods and take part, never to browse or download.")],
        links=[
            (f"{HOME}/login{_next_query(request)}", N_("Already have an account? Sign in")),
            (f"{HOME}/forgot", N_("Forgot your password?")),
        ],
        hidden=_next_field(request),
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
    auth = auth_services(request)
    submitted = Registration(
        email=form_value(request, "email"),
        password=form_value(request, "password"),
        display_name=form_value(request, "displayName"),
    )
    try:
        registration.check_open(auth, request.registry.settings, caller_of(request))
        form = register_form(request)
        errors = form.input_errors(request)
        if errors:
            return form.show_errors(request, *errors)
        display_name, messages = submitted.clean_display_name(), translations_for(request)
        validated = registration.validate_registration(
            auth, request.registry.settings, submitted.email, submitted.password, display_name
        )
        account, login = registration.create_account(request.dbsession, auth.outbox, validated, display_name, messages)
        return start_session(request, account, login)
    except ApiError as error:
        return register_form(request).show_errors(request, error)


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
