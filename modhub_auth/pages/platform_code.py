"""The code of an authenticator after a sign-in at a platform, which does not replace it.

What the platform proved is in a field of the form, encrypted and bound to this browser's form token.
"""

from typing import Any, Final

from pyramid.csrf import get_csrf_token

from modhub.base.errors import ApiError, not_found
from modhub.content.text import N_
from modhub.db import now, to_micros
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import OPEN, page
from modhub_auth import services
from modhub_auth.clock_skew import is_recent
from modhub_auth.container import AuthServices, auth_services
from modhub_auth.interfaces import ILoginPlatform
from modhub_auth.models import Login, LoginKind
from modhub_auth.pages.blocked import links_for_blocked
from modhub_auth.pages.form_pages import FORM_TEMPLATE, FormField, FormPage, form_value
from modhub_auth.pages.sign_in import start_session
from modhub_auth.platform.logins import SignInOutcome
from modhub_auth.platform.openid import platform_refused
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import PlatformPage
from modhub_auth.signin.access_tokens import LoginClaim
from modhub_auth.signin.proof import prove_by_code

PENDING_MICROS: Final = 10 * 60 * 1_000_000
"""How long the visitor has to give the code after the return, in microseconds."""


def platform_code_form(request: Request, pending: str) -> FormPage:
    """The form that asks for the code."""
    hint = N_("The six digits it shows, or one of your recovery codes.")
    fields = [FormField("code", N_("Authenticator code"), autocomplete="one-time-code", hint=hint)]
    return FormPage(
        N_("Sign in"), N_("Sign in"), fields, hidden={"pending": pending, "next": query(request, "next") or ""}
    )


def encrypt_pending(auth: AuthServices, request: Request, outcome: SignInOutcome) -> str:
    """What the form carries: the login that the platform proved, and when."""
    login = outcome.login
    return auth.pending_box.encrypt(f"{login.id} {to_micros(now())} {login.random_id}", get_csrf_token(request))


def _pending_login(auth: AuthServices, request: Request) -> LoginRecord:
    """The login that returned from the platform in this browser a moment ago; 403 without one."""
    try:
        pending = auth.pending_box.decrypt(form_value(request, "pending"), get_csrf_token(request))
    except ValueError:
        pending = None
    login_part, time_part, random_id = (*(pending or "").split(" "), "", "", "")[:3]
    login_id, returned_at = parse_id(login_part), parse_id(time_part)
    if login_id is None or returned_at is None or not is_recent(returned_at, PENDING_MICROS):
        raise platform_refused()
    login = auth.account_reader.claimed_login(LoginClaim(login_id, random_id))
    if login is None or login.login_kind != LoginKind.PLATFORM:
        raise platform_refused()
    return login


@page(context=ILoginPlatform, request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def platform_code_submit(context: PlatformPage, request: Request) -> Any:
    """``POST``: check the code of the authenticator, which a platform sign-in does not replace."""
    auth = auth_services(request)
    if context.__name__ not in auth.platforms:
        raise not_found()
    login_record = _pending_login(auth, request)
    settings, account_id = request.registry.settings, login_record.account_id
    try:
        prove_by_code(auth, settings, account_id, form_value(request, "code"), caller_of(request))
        account = services.lock_account(request.dbsession, account_id)
        login = request.dbsession.get(Login, login_record.login_id)
        if account is None or login is None:
            raise platform_refused()
        return start_session(request, account, login, form_value(request, "next"), by_platform=True)
    except ApiError as error:
        form = platform_code_form(request, form_value(request, "pending"))
        form.links = [*links_for_blocked(request, error), *form.links]
        return form.show_errors(request, error)
