"""``/Modhub/account/platform/{provider}``: redirect to a game platform and handle the return from it (C-ACC-19).

The return is a GET caused by another site. It may only do what its state proves that this browser began, and it writes
in its own transaction.
"""

from typing import Any, Final
from urllib.parse import urlencode

from modhub.base.errors import ApiError, not_found
from modhub.base.identity import NOBODY, CredentialKind
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request, act_for_request
from modhub.web.views import OPEN, page
from modhub_auth import services
from modhub_auth.container import AuthServices, auth_services
from modhub_auth.models import Login, LoginKind
from modhub_auth.pages.form_pages import (
    FORM_TEMPLATE,
    HOME,
    MESSAGE_TEMPLATE,
    YOUR_ACCOUNT,
    FormPage,
    code_field,
    error_page,
    form_value,
    message_page,
    never_store,
    never_stored,
)
from modhub_auth.pages.fresh_proof import (
    current_login,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.pages.sign_in import CODE_STEP_LIFE, links_for_blocked, start_session
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import ILoginPlatform, PlatformPage
from modhub_auth.signin import platform_logins, sessions, totp
from modhub_auth.signin.authentication import prove_by_code
from modhub_auth.signin.openid import Assertion, Steam, platform_refused
from modhub_auth.signin.session_cookies import safe_next, set_session_cookie, user_agent_label
from modhub_auth.signin.sessions import PROOF_LIFETIME, SESSION_LIFETIME
from modhub_auth.tokens import LoginClaim

# The code of an authenticator after a sign-in at a platform, which does not replace it.
#
# What the platform proved is in a field of the form, encrypted and bound to this browser's form token.


CODE_STEP: Final = "platform sign-in"
VISIT: Final = "platform visit"
"""The purposes of notes: which login returned, and why a browser was sent away."""


def platform_code_form(request: Request, pending: str) -> FormPage:
    """The form that asks for the code."""
    return FormPage(
        N_("Sign in"), N_("Sign in"), [code_field()], hidden={"pending": pending, "next": query(request, "next") or ""}
    )


def _pending_login(auth: AuthServices, request: Request) -> LoginRecord:
    """The login that returned from the platform in this browser a moment ago; 403 without one."""
    pending = auth.notes.read_note(request, CODE_STEP, form_value(request, "pending"), CODE_STEP_LIFE)
    if pending is None:
        raise platform_refused()
    login_id, random_id = pending
    login = auth.account_reader.claimed_login(LoginClaim(int(login_id), random_id))
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
    try:
        prove_by_code(request, login_record.account_id, form_value(request, "code"))
        account = services.lock_account(request.dbsession, login_record.account_id)
        login = request.dbsession.get(Login, login_record.login_id)
        if account is None or login is None:
            raise platform_refused()
        return start_session(request, account, login, form_value(request, "next"), by_platform=True)
    except ApiError as error:
        form = platform_code_form(request, form_value(request, "pending"))
        form.links = [*links_for_blocked(request, error), *form.links]
        return form.show_errors(request, error)


SIGN_IN: Final = "sign-in"
PROVE: Final = "prove"
LINK: Final = "link"
PLATFORM_TITLES: Final = {
    403: N_("Sign-in failed"),
    409: N_("This sign-in method is already in use"),
    503: "Temporarily unavailable",
}


def _platform(context: PlatformPage, request: Request) -> Steam:
    platform = auth_services(request).platforms.get(context.__name__)
    if platform is None:
        raise not_found()
    return platform


def _return_address(request: Request, platform: Steam, next_path: str | None, state: str) -> str:
    """Where the platform sends the browser."""
    parameters = {"state": state, **({"next": next_path} if next_path else {})}
    base_url = request.registry.settings["modhub.base_url"]
    return f"{base_url}{HOME}/platform/{platform.name}?{urlencode(parameters)}"


def _platform_url(request: Request, platform: Steam, next_path: str | None, purpose: str) -> str:
    """The address of the platform for a visit that begins now.

    The state proves on the return that this browser began it, for this purpose and with this account: a visitor who
    wanted to link a login does not return to a new account.
    """
    account_id = request.identify(CredentialKind.ACCOUNT).account_id
    state = auth_services(request).notes.seal_note(request, VISIT, purpose, account_id)
    return_to = _return_address(request, platform, next_path, state)
    return platform.sign_in_url(return_to, request.registry.settings["modhub.base_url"])


def _read_purpose(request: Request, state: str) -> str:
    """Why this browser was sent to the platform; 403 for any other browser or account, and after ten minutes.

    Who only wants to sign in may take their time there.
    """
    notes, account_id = auth_services(request).notes, request.identify(CredentialKind.ACCOUNT).account_id
    visit = notes.read_note(request, VISIT, state, SESSION_LIFETIME)
    if visit is None or visit[1] != str(account_id):
        raise platform_refused()
    purpose = visit[0]
    if purpose != SIGN_IN and notes.read_note(request, VISIT, state, PROOF_LIFETIME) is None:
        raise platform_refused()
    return purpose


@page(context=ILoginPlatform, request_method="GET", permission=OPEN, renderer=MESSAGE_TEMPLATE)
def platform_page(context: PlatformPage, request: Request) -> Any:
    """Redirect to the platform, or handle the return from it."""
    never_store(request)
    platform = _platform(context, request)
    try:
        if query(request, "openid.mode") is None:
            return _depart(request, platform)
        return _handle_return(request, platform)
    except ApiError as error:
        links = [*links_for_blocked(request, error), (request.path, N_("Try again")), YOUR_ACCOUNT]
        return error_page(request, PLATFORM_TITLES.get(error.status, PLATFORM_TITLES[403]), error, links)


def _depart(request: Request, platform: Steam) -> Any:
    """Redirect to the platform to sign in or to prove; a signed-in visitor without ``prove`` gets the link form.

    This is a GET, since the CSP lets no form lead to another site. Another site could therefore send a signed-in
    visitor here to prove, so that visitor is asked first.
    """
    next_path = safe_next(query(request, "next"))
    if request.identify(CredentialKind.ACCOUNT) is NOBODY:
        return never_stored(Redirect(_platform_url(request, platform, next_path, SIGN_IN)))
    if query(request, "prove") is None:
        return never_stored(Redirect(f"{request.path.rstrip('/')}/link"))
    if request.environ.get("HTTP_SEC_FETCH_SITE") in {"cross-site", "same-site"}:
        line = N_("Another site sent you here. Continue only if you want to confirm that the account is yours.")
        return message_page(
            request,
            "sign_in_again",
            N_("Sign in again"),
            line,
            links=[(request.path_qs, N_("Continue")), YOUR_ACCOUNT],
        )
    return never_stored(Redirect(_platform_url(request, platform, next_path, PROVE)))


def _handle_return(request: Request, platform: Steam) -> Any:
    next_path, state = safe_next(query(request, "next")), query(request, "state") or ""
    purpose = _read_purpose(request, state)
    # The provider has signed the return address, with the state in it.
    return_to = _return_address(request, platform, next_path, state)
    assertion = platform.verify(request.environ.get("QUERY_STRING", ""), return_to)
    if purpose == SIGN_IN:
        return _sign_in(request, assertion, next_path)
    login = current_login(request)
    assert login.session_id is not None
    with auth_services(request).databases.write_session.begin() as session:
        act_for_request(session, request)
        platform_logins.use_nonce(session, assertion)
        account = sessions.lock_session_account(session, login.account_id, login.session_id)
        if purpose == PROVE:
            platform_logins.prove_by_platform(session, account, login.session_id, assertion)
            return rotate_session(request, Redirect(next_path or HOME), session)
        if platform_logins.link_login(session, account, assertion):
            send_security_email(request, "login linked", session)
        return rotate_session(request, Redirect(f"{HOME}?done=linked"), session)


def link_form(context: PlatformPage, request: Request) -> FormPage:
    """The form to confirm that a platform login is to be linked."""
    title = _platform(context, request).title
    messages = translations_for(request)
    return FormPage(
        messages.gettext("Link your %(name)s account", name=title),
        N_("Continue"),
        [],
        lead=[N_("Anyone who can sign in there will also be able to sign in to your account.")],
        links=[YOUR_ACCOUNT],
    )


@proven_page(link_form, name="link", context=ILoginPlatform)
def link_page(context: PlatformPage, request: Request) -> Any:
    """``POST /Modhub/account/platform/{provider}/link``: a link to the platform, valid for some minutes."""
    platform = _platform(context, request)
    proven_account(request)
    platform_url = _platform_url(request, platform, None, LINK)
    text = translations_for(request).gettext("Sign in with %(name)s", name=platform.title)
    line = N_("Now sign in there with the account that you want to link. You have ten minutes.")
    return message_page(
        request, "link_method", N_("Link a sign-in method"), line, links=[(platform_url, text), YOUR_ACCOUNT]
    )


def _sign_in(request: Request, assertion: Assertion, next_path: str | None) -> Any:
    auth, registration = auth_services(request), request.registry.settings["modhub_auth.registration"]
    with auth.databases.write_session.begin() as session:
        act_for_request(session, request)
        platform_logins.use_nonce(session, assertion)
        account, login = platform_logins.sign_in_or_register(session, assertion, registration=registration)
        if not totp.has_authenticator(session, account.id):
            secret = sessions.begin_page_session(session, account, login, user_agent_label(request), proved=True)
            return never_stored(set_session_cookie(request, Redirect(next_path or HOME), secret))
        # What the form carries: the login that the platform proved.
        pending = auth.notes.seal_note(request, CODE_STEP, login.id, login.random_id)
    request.override_renderer = FORM_TEMPLATE
    return platform_code_form(request, pending).show(request)
