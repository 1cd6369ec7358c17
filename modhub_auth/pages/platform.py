"""``/Modhub/account/platform/{provider}``: leave for a game platform, and come back from it (C-ACC-19).

The return is a GET that another site brings about, so it may only do what a state says that this browser began; it
writes in a transaction of its own.
"""

import hmac
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode

from pyramid.csrf import get_csrf_token
from sqlalchemy.orm import Session

from modhub.db import from_micros, now, to_micros
from modhub.errors import ApiError, not_found
from modhub.payload import query
from modhub.request import Request
from modhub.security.identity import NOBODY, CredentialKind
from modhub.text import N_
from modhub.traversal import parse_id
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.views import OPEN, page
from modhub_auth import services
from modhub_auth.container import AuthServices, auth_services
from modhub_auth.interfaces import ILoginPlatform
from modhub_auth.models import Login
from modhub_auth.pages.form_pages import (
    FORM_TEMPLATE,
    MESSAGE_TEMPLATE,
    FormField,
    FormPage,
    error_page,
    message_page,
    never_store,
    never_stored,
    sent_value,
)
from modhub_auth.pages.fresh_proof import current_login, proven_account
from modhub_auth.pages.sign_in import HOME, enter
from modhub_auth.pages.user_agents import agent_of, browser_of
from modhub_auth.platform import logins
from modhub_auth.platform.logins import PlatformIdentity, SignInOutcome
from modhub_auth.platform.openid import Assertion, Steam, platform_refused
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import AccountPermission, PlatformPage
from modhub_auth.signin import page_sessions, recovery
from modhub_auth.signin.access_tokens import derive_key
from modhub_auth.signin.proof import prove_by_code
from modhub_auth.signin.session_cookies import safe_next, set_session_cookie

PENDING: Final = 10 * 60 * 1_000_000
"""How long somebody has to give the code after coming back, in microseconds."""
_SKEW: Final = 5 * 1_000_000
PROVE: Final = "prove"
LINK: Final = "link"
PLATFORM_TITLES: Final = {
    403: N_("Sign-in failed"),
    409: N_("This login is already in use"),
    503: "Temporarily unavailable",
}


def _platform(context: PlatformPage, request: Request) -> Steam:
    found = auth_services(request).platforms.get(context.__name__)
    if found is None:
        raise not_found()
    return found


class Journey(NamedTuple):
    """Why somebody leaves for a platform, and since when they may: to sign in, to prove themselves, to link a login."""

    purpose: str = ""
    at: int = 0

    @classmethod
    def begin(cls, purpose: str) -> Self:
        """One that begins now."""
        return cls(purpose, to_micros(now()))

    @classmethod
    def read(cls, request: Request) -> Self:
        """The one that somebody comes back from, as the return address says; the state vouches for it."""
        at = query(request, "at") or ""
        known = parse_id(at) if query(request, "for") in (PROVE, LINK) else None
        # Not every number is a date.
        known = None if known is None or known > to_micros(now()) + _SKEW else known
        return cls() if known is None else cls(query(request, "for") or "", known)

    @property
    def is_over(self) -> bool:
        """Whether it has taken too long."""
        return bool(self.purpose) and not page_sessions.is_fresh(from_micros(self.at))

    def fields(self) -> dict[str, str]:
        """Its part of the return address."""
        return {"for": self.purpose, "at": str(self.at)} if self.purpose else {}


def _state(request: Request, journey: Journey) -> str:
    """What only the browser that began can bring back: it hangs on the token of its forms, on who is signed in, and on
    what they wanted, so that whoever wanted to link a login does not come back to a new account.
    """
    secret: str = request.registry.settings["modhub.secret"][0]
    who = request.identify(CredentialKind.ACCOUNT).account_id
    held = f"{get_csrf_token(request)} {who} {journey.purpose} {journey.at}"
    return hmac.digest(derive_key(secret, "platform state"), held.encode(), "sha256").hex()


def _return_address(request: Request, platform: Steam, wanted: str | None, journey: Journey) -> str:
    base = request.registry.settings["modhub.base_url"]
    given = {"state": _state(request, journey), **journey.fields(), **({"next": wanted} if wanted else {})}
    return f"{base}{HOME}/platform/{platform.name}?{urlencode(given)}"


def _way(request: Request, platform: Steam, return_to: str) -> str:
    return platform.leave(return_to, request.registry.settings["modhub.base_url"])


@page(context=ILoginPlatform, request_method="GET", permission=OPEN, renderer=MESSAGE_TEMPLATE)
def platform_page(context: PlatformPage, request: Request) -> Any:
    """Leave for the platform, or come back from it."""
    never_store(request)
    platform = _platform(context, request)
    try:
        if query(request, "openid.mode") is None:
            return _leave(request, platform)
        return _come_back(request, platform)
    except ApiError as refusal:
        links = [(request.path, N_("Try again")), (HOME, "Your account")]
        return error_page(request, PLATFORM_TITLES.get(refusal.status, PLATFORM_TITLES[403]), refusal, links)


def _leave(request: Request, platform: Steam) -> Any:
    """To the platform, to sign in or to prove oneself; who is signed in and says nothing more wants to link a login.

    A link is followed, not a form sent: the policy of our pages lets no form lead elsewhere. So another site could send
    somebody who is signed in here to prove themselves, if they were not asked first.
    """
    wanted = safe_next(query(request, "next"))
    if request.identify(CredentialKind.ACCOUNT) is NOBODY:
        return never_stored(Redirect(_way(request, platform, _return_address(request, platform, wanted, Journey()))))
    if query(request, "prove") is None:
        return never_stored(Redirect(f"{request.path.rstrip('/')}/link"))
    if request.environ.get("HTTP_SEC_FETCH_SITE") in {"cross-site", "same-site"}:
        line = N_("Another site sent you here. Continue only if you want to confirm that the account is yours.")
        return message_page(
            request, N_("Sign in again"), line, links=[(request.path_qs, N_("Continue")), (HOME, "Your account")]
        )
    return_to = _return_address(request, platform, wanted, Journey.begin(PROVE))
    return never_stored(Redirect(_way(request, platform, return_to)))


def _come_back(request: Request, platform: Steam) -> Any:
    wanted, journey = safe_next(query(request, "next")), Journey.read(request)
    return_to = _return_address(request, platform, wanted, journey)
    # The state is judged with the return address that holds it: the provider has signed that very address.
    assertion = platform.judge(request.environ.get("QUERY_STRING", ""), return_to)
    identity = PlatformIdentity(platform.name, assertion.subject)
    if request.identify(CredentialKind.ACCOUNT) is NOBODY:
        return _arrive(request, assertion, identity, wanted)
    if not journey.purpose or journey.is_over:
        raise platform_refused()
    found = current_login(request)
    assert found.session_id is not None
    with auth_services(request).databases.write_session.begin() as session:
        logins.use_nonce(session, assertion)
        account = page_sessions.hold_session(session, found.account_id, found.session_id)
        if journey.purpose == PROVE:
            logins.prove_by_platform(session, account, found.session_id, identity)
            return _rotated(request, session, found, wanted or HOME)
        if logins.link_login(session, account, identity):
            own, messages = auth_services(request), translations_for(request)
            recovery.queue_security_email(
                session, own.writer, account.id, "login linked", messages, client=browser_of(request)
            )
        return _rotated(request, session, found, f"{HOME}?done=linked")


def _rotated(request: Request, session: Session, found: LoginRecord, path: str) -> Any:
    """What has proved or changed who may do what gives the session another secret (T-C12)."""
    assert found.session_id is not None
    return never_stored(
        set_session_cookie(request, Redirect(path), page_sessions.rotate_page_session(session, found.session_id))
    )


def link_form(context: PlatformPage, request: Request) -> FormPage:
    """Consent to leave for the platform, and to come back with a login."""
    title = _platform(context, request).title
    messages = translations_for(request)
    return FormPage(
        messages.gettext("Link your %(name)s account", name=title),
        N_("Continue"),
        [],
        lead=[N_("Anyone who has that login will be able to sign in to your account.")],
        links=[(HOME, "Your account")],
    )


@page(
    context=ILoginPlatform,
    name="link",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=FORM_TEMPLATE,
    fresh_proof=link_form,
)
def link_page(context: PlatformPage, request: Request) -> Any:
    """``POST /Modhub/account/platform/{provider}/link``: the way to the platform, open for some minutes."""
    platform = _platform(context, request)
    proven_account(request)
    way = _way(request, platform, _return_address(request, platform, None, Journey.begin(LINK)))
    request.override_renderer = MESSAGE_TEMPLATE
    text = translations_for(request).gettext("Sign in with %(name)s", name=platform.title)
    line = N_("Now sign in there with the account that you want to link. You have ten minutes.")
    return message_page(request, N_("Link a login"), line, links=[(way, text), (HOME, "Your account")])


def _arrive(request: Request, assertion: Assertion, identity: PlatformIdentity, wanted: str | None) -> Any:
    own, registration = auth_services(request), request.registry.settings["modhub_auth.registration"]
    with own.databases.write_session.begin() as session:
        logins.use_nonce(session, assertion)
        arrived = logins.sign_in_or_register(session, identity, registration=registration)
        if not arrived.factor:
            secret = page_sessions.begin_page_session(
                session, arrived.account, arrived.login, agent_of(request), proved=True
            )
            return never_stored(set_session_cookie(request, Redirect(wanted or HOME), secret))
        pending = _seal(own, request, arrived)
    request.override_renderer = FORM_TEMPLATE
    return _code_sheet(request, pending).show(request)


def _code_sheet(request: Request, pending: str) -> FormPage:
    hint = N_("The six digits it shows, or one of your recovery codes.")
    fields = [FormField("code", N_("Authenticator code"), complete="one-time-code", hint=hint)]
    return FormPage(
        N_("Sign in"), N_("Sign in"), fields, hidden={"pending": pending, "next": query(request, "next") or ""}
    )


def _seal(own: AuthServices, request: Request, arrived: SignInOutcome) -> str:
    return own.pending.encrypt(f"{arrived.login.id} {to_micros(now())}", get_csrf_token(request))


def _opened(own: AuthServices, request: Request) -> int:
    """The login of somebody who came back a moment ago, in this browser."""
    try:
        opened = own.pending.decrypt(sent_value(request, "pending"), get_csrf_token(request))
    except ValueError:
        opened = None
    login_id, at = (parse_id(part) for part in (opened or "").partition(" ")[::2])
    # What is from the future has ended too: a clock that is set back lets nothing live longer. Numbers are compared,
    # because not every one of them is a date.
    if login_id is None or at is None or not -_SKEW <= to_micros(now()) - at <= PENDING:
        raise platform_refused()
    return login_id


@page(context=ILoginPlatform, request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def platform_code_submit(context: PlatformPage, request: Request) -> Any:
    """The code of the authenticator, which a platform's word does not replace."""
    _platform(context, request)
    own = auth_services(request)
    login_id = _opened(own, request)
    found = own.finder.login(login_id)
    if found is None or found.login_kind != "Platform":
        raise platform_refused()
    try:
        prove_by_code(own, request.registry.settings, found.account_id, sent_value(request, "code"), caller_of(request))
        account = services.lock_account(request.dbsession, found.account_id)
        login = request.dbsession.get(Login, login_id)
        if account is None or login is None:
            raise platform_refused()
    except ApiError as refusal:
        return _code_sheet(request, sent_value(request, "pending")).refused(request, refusal)
    return enter(request, account, login, sent_value(request, "next"), by_platform=True)
