"""The pages to register, sign in and sign out, with the second step and what the blocked may read."""

import hmac
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from pyramid.csrf import get_csrf_token

from modhub.base.errors import ApiError
from modhub.base.identity import NOBODY, CredentialKind
from modhub.base.service_registry import find_optional_service
from modhub.content import text
from modhub.content.text import N_
from modhub.ui import forms
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.payload import query
from modhub.web.request import Request
from modhub_auth import email_addresses, services
from modhub_auth.container import auth_services
from modhub_auth.models import MAX_DISPLAY_NAME, Account, Login
from modhub_auth.pages.form_pages import (
    HOME,
    MARK_FIELD,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    Links,
    code_field,
    form_value,
    never_stored,
    open_form_page,
)
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import IBlockedAccounts
from modhub_auth.services import BlockedAccountError, PasswordLogin
from modhub_auth.signin import registration, sessions
from modhub_auth.signin.authentication import authenticate, authenticate_code
from modhub_auth.signin.passwords import (
    common_password_error,
    guessable_words,
    is_common,
    password_warning,
    validate_password,
)
from modhub_auth.signin.session_cookies import (
    SIGN_IN_COOKIE,
    clear_session_cookie,
    safe_next,
    set_session_cookie,
    user_agent_label,
)
from modhub_auth.tokens import keyed_digests


def links_for_blocked(request: Request, error: ApiError) -> Links:
    """The way to the reasons, for the page of a sign-in that ``error`` refused; empty for any other refusal."""
    service = find_optional_service(request.registry, IBlockedAccounts)
    if service is None or not isinstance(error, BlockedAccountError):
        return []
    path = service.find_reasons(request, error.account_id)
    return [] if path is None else [(path, N_("Why the account is blocked, and how to appeal"))]


# The check of a new password in a form: it applies the rules and warns of a common password.
#
# The warning leaves the choice to the visitor. The form then holds a mark of the password, and the same password is
# accepted when typed again. The mark reveals nothing about the password and is invalid in another visitor's form.


def password_check(request: Request, *personal: str) -> Callable[[str], None]:
    """The check of a password field: 400 for an invalid password, and the first time for a common one.

    ``personal`` texts, and the address and name in the form, make weak passwords.
    """
    settings = request.registry.settings
    words = guessable_words(settings, *personal, form_value(request, "email"), form_value(request, "displayName"))

    def judge(value: str) -> None:
        password = validate_password(value)
        if not is_common(password, words):
            return
        if settings["modhub_auth.refuse_common_passwords"]:
            raise common_password_error()
        message = f"{get_csrf_token(request)} {password}".encode()
        marks = keyed_digests(settings["modhub.secret"], "common password", message)
        mark = form_value(request, MARK_FIELD).encode("utf-8", "replace")
        if not any(hmac.compare_digest(made.encode(), mark) for made in marks):
            raise password_warning({MARK_FIELD: marks[0]})

    return judge


# The second step of signing in: the code of an authenticator, after the password was right.
#
# That it was is in a cookie that scripts cannot read, encrypted and bound to this browser's form token; the page has
# nothing of it. It is void after ten minutes and when the password changes. A code works only once, so nothing is
# stored.


CODE_STEP: Final = "password sign-in"
"""The purpose of that note."""
CODE_STEP_LIFE: Final = timedelta(minutes=10)
"""How long the visitor has to give the code after the password, or after the return from a platform."""


def sign_in_expired() -> ApiError:
    """403: the password was entered too long ago, or it was changed since."""
    message = N_("This sign-in has expired. Enter your email address and password again.")
    return ApiError(403, "sign_in_expired", message)


def is_code_step(request: Request) -> bool:
    """Whether the form of the second step was submitted: it has no email address and no password."""
    has_code_alone = "code" in request.POST and not {"email", "password"} & set(request.POST)
    return has_code_alone and own_cookie(request, SIGN_IN_COOKIE) != ""


def remember_password(request: Request, response: Any, login: PasswordLogin) -> None:
    """Remember in this browser that the password was right."""
    sealed = auth_services(request).notes.seal_note(request, CODE_STEP, login.account_id, _digest(login))
    set_own_cookie(request, response, SIGN_IN_COOKIE, sealed)


def forget_password(request: Request, response: Any) -> Any:
    """Remove what :func:`remember_password` has set."""
    if own_cookie(request, SIGN_IN_COOKIE):
        set_own_cookie(request, response, SIGN_IN_COOKIE, "", max_age=0)
    return response


def _remembered_login(request: Request) -> PasswordLogin | None:
    auth = auth_services(request)
    facts = auth.notes.read_note(request, CODE_STEP, own_cookie(request, SIGN_IN_COOKIE), CODE_STEP_LIFE)
    if facts is None:
        return None
    account_id, digest = facts
    login = auth.account_reader.password_login(int(account_id))
    return login if login is not None and login.password_hash and _digest(login) == digest else None


def _digest(login: PasswordLogin) -> str:
    return sha256((login.password_hash or "").encode()).hexdigest()[:32]


SECOND_FACTOR: Final = "second_factor_required"


def email_field() -> FormField:
    """The field for the address of an account."""
    return FormField("email", N_("Email address"), "email", "username", check=email_addresses.require_address)


def new_password_field(request: Request, label: str, *personal: str) -> FormField:
    """The field for a new password; ``personal``: the account's name and address, which make weak passwords."""
    hint = N_("At least 10 characters; longer is better.")
    return FormField("password", label, "password", "new-password", hint=hint, check=password_check(request, *personal))


def start_session(
    request: Request, account: Account, login: Login, next_path: str | None = None, *, by_platform: bool = False
) -> Any:
    """Sign the visitor in with a new session, and redirect to the page that they wanted."""
    _end_current(request)
    secret = sessions.begin_page_session(
        request.dbsession, account, login, user_agent_label(request), proved=by_platform
    )
    redirect = Redirect(safe_next(next_path) or _next_path(request) or HOME)
    return never_stored(set_session_cookie(request, redirect, secret))


def _end_current(request: Request) -> None:
    """End the browser's earlier session instead of taking it over (session fixation)."""
    login: LoginRecord | None = request.identify(CredentialKind.ACCOUNT).details
    if login is not None and login.session_id is not None:
        sessions.end_page_session(request.dbsession, login.account_id, login.session_id)


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
    """The sign-in form; a code is asked for after the password (:mod:`modhub_auth.pages.sign_in`)."""
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


@open_form_page("login")
def login_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/login``, with the code or followed by a second step that asks for it."""
    if request.is_safe:
        return login_form(request).show(request)
    if is_code_step(request):
        return _submit_code(request)
    email = form_value(request, "email")
    try:
        checked_login = authenticate(
            request, email, form_value(request, "password"), form_value(request, "code").strip()
        )
        return start_session(request, *services.lock_checked_login(request.dbsession, checked_login))
    except ApiError as error:
        if error.code != SECOND_FACTOR:
            return _refuse(request, error)
        # The password was right.
        reader = auth_services(request).account_reader
        login = reader.password_login_by_address(email_addresses.parse_address(email))
        if login is not None:
            remember_password(request, request.response, login)
        return _code_page(request, error)


def _submit_code(request: Request) -> Any:
    """The code of a login whose password was right; 403 if that was too long ago."""
    login = _remembered_login(request)
    try:
        if login is None:
            raise sign_in_expired()
        authenticate_code(request, login, form_value(request, "code").strip())
        response = start_session(request, *services.lock_checked_login(request.dbsession, login))
    except ApiError as error:
        if error.code == SECOND_FACTOR:
            return _code_page(request, error)
        forget_password(request, request.response)
        return _refuse(request, error)
    return forget_password(request, response)


def _refuse(request: Request, error: ApiError) -> dict[str, Any]:
    """The form again. Who has shown that a blocked account is theirs can read why it is."""
    form = login_form(request)
    form.links = [*links_for_blocked(request, error), *form.links]
    return form.show_errors(request, error)


def _code_page(request: Request, error: ApiError) -> dict[str, Any]:
    """The second step; that a code is missing is no error yet, but its status says that nobody is signed in."""
    form = FormPage(
        N_("Sign in"),
        N_("Sign in"),
        [code_field()],
        lead=[N_("Your account has an authenticator. Enter its code.")],
        links=[(f"{HOME}/login{_next_query(request)}", N_("Start again"))],
        hidden=_next_field(request),
    )
    if form_value(request, "code").strip() or is_code_step(request):
        return form.show_errors(request, error)
    forms.set_error_status(request, error)
    return form.show(request)


def register_form(request: Request) -> FormPage:
    """The registration form."""
    return FormPage(
        N_("Create an account"),
        N_("Create account"),
        [
            email_field(),
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


@open_form_page("register")
def register_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/register``"""
    if request.is_safe:
        if not request.registry.settings["modhub_auth.registration"]:
            raise services.registration_closed()
        return register_form(request).show(request)
    try:
        registration.check_open(request)
        form = register_form(request)
        errors = form.input_errors(request)
        if errors:
            return form.show_errors(request, *errors)
        display_name = text.line(form_value(request, "displayName"), MAX_DISPLAY_NAME)
        account, login = registration.register(
            request, form_value(request, "email"), form_value(request, "password"), display_name
        )
        return start_session(request, account, login)
    except ApiError as error:
        return register_form(request).show_errors(request, error)


@open_form_page("logout")
def logout_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/logout``"""
    if request.is_safe:
        lead = [N_("This signs you out in this browser only.")]
        return FormPage("Sign out", "Sign out", [], lead=lead, links=[YOUR_ACCOUNT]).show(request)
    if request.identify(CredentialKind.ACCOUNT) is not NOBODY:
        _end_current(request)
    return never_stored(clear_session_cookie(request, Redirect("/Modhub")))
