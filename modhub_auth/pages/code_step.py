"""The second step of signing in: the code of an authenticator, after the password was right.

That it was is in a cookie that scripts cannot read, encrypted and bound to this browser's form token; the page has
nothing of it. It is void after ten minutes and when the password changes. A code works only once, so nothing is stored.
"""

from hashlib import sha256
from typing import Any, Final

from pyramid.csrf import get_csrf_token

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.db import now, to_micros
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub_auth.clock_skew import is_recent
from modhub_auth.container import auth_services
from modhub_auth.pages.form_pages import FormField, FormPage, form_value
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import PasswordLogin
from modhub_auth.services import CheckedLogin
from modhub_auth.signin.authentication import authenticate_code
from modhub_auth.signin.session_cookies import SIGN_IN_COOKIE

VALID_MICROS: Final = 10 * 60 * 1_000_000


def sign_in_expired() -> ApiError:
    """403: the password was entered too long ago, or it was changed since."""
    message = N_("This sign-in has expired. Enter your email address and password again.")
    return ApiError(403, "sign_in_expired", message)


def code_form(hidden: dict[str, str], start_again: str) -> FormPage:
    """The form of the second step."""
    hint = N_("The six digits it shows, or one of your recovery codes.")
    return FormPage(
        N_("Sign in"),
        N_("Sign in"),
        [FormField("code", N_("Authenticator code"), autocomplete="one-time-code", hint=hint)],
        lead=[N_("Your account has an authenticator. Enter its code.")],
        links=[(start_again, N_("Start again"))],
        hidden=hidden,
    )


def is_code_step(request: Request) -> bool:
    """Whether the form of the second step was submitted: it has no email address and no password."""
    has_code_alone = "code" in request.POST and not {"email", "password"} & set(request.POST)
    return has_code_alone and own_cookie(request, SIGN_IN_COOKIE) != ""


def remember_password(request: Request, response: Any, login: PasswordLogin) -> None:
    """Remember in this browser that the password was right."""
    facts = f"{login.account_id} {to_micros(now())} {_digest(login)}"
    sealed = auth_services(request).code_box.encrypt(facts, get_csrf_token(request))
    set_own_cookie(request, response, SIGN_IN_COOKIE, sealed)


def forget_password(request: Request, response: Any) -> Any:
    """Remove what :func:`remember_password` has set."""
    if own_cookie(request, SIGN_IN_COOKIE):
        set_own_cookie(request, response, SIGN_IN_COOKIE, "", max_age=0)
    return response


def check_code(request: Request) -> CheckedLogin:
    """Check the submitted code, and use it up; 403 if the first step has expired, else as the sign-in in one step."""
    auth, login = auth_services(request), _remembered_login(request)
    if login is None:
        raise sign_in_expired()
    code = form_value(request, "code").strip()
    return authenticate_code(auth, request.registry.settings, login, code, caller_of(request))


def _remembered_login(request: Request) -> PasswordLogin | None:
    auth = auth_services(request)
    try:
        facts = auth.code_box.decrypt(own_cookie(request, SIGN_IN_COOKIE), get_csrf_token(request)) or ""
    except ValueError:
        return None
    account, time, digest = (*facts.split(" "), "", "", "")[:3]
    account_id, entered_at = parse_id(account), parse_id(time)
    if account_id is None or entered_at is None or not is_recent(entered_at, VALID_MICROS):
        return None
    login = auth.account_reader.password_login(account_id)
    return login if login is not None and login.password_hash and _digest(login) == digest else None


def _digest(login: PasswordLogin) -> str:
    return sha256((login.password_hash or "").encode()).hexdigest()[:32]
