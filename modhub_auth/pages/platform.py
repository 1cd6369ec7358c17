"""``/Modhub/account/platform/{provider}``: leave for a game platform, and come back from it (decisions 3.9).

The return is a GET that another site brings about, so it may only do what a state says that this browser began; it
writes in a transaction of its own.
"""

import hmac
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode

from pyramid.csrf import get_csrf_token
from sqlalchemy.orm import Session

from modhub.db import from_micros, now, to_micros
from modhub.errors import Refusal, not_found
from modhub.identity import NOBODY, Credential
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.tree import parse_id
from modhub.views import OPEN, page
from modhub_auth import platforms, recovery, services, sessions
from modhub_auth.cookies import keep, safe_next
from modhub_auth.finding import Found
from modhub_auth.interfaces import IPlatform
from modhub_auth.limits import caller_of
from modhub_auth.models import Login
from modhub_auth.openid import Assertion, Steam, refused
from modhub_auth.pages.agents import agent_of, browser_of
from modhub_auth.pages.proof import proved, visitor
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, private, refusal_said, said, sent, unstored
from modhub_auth.pages.signing import HOME, enter
from modhub_auth.parts import Parts, parts
from modhub_auth.platforms import Arrived, Identity
from modhub_auth.proving import by_code
from modhub_auth.resources import AccountPermission, PlatformPage
from modhub_auth.tokens import derive

PENDING: Final = 10 * 60 * 1_000_000
"""How long somebody has to give the code after coming back, in microseconds."""
_SKEW: Final = 5 * 1_000_000
PROVE: Final = "prove"
LINK: Final = "link"
TITLES: Final = {403: "The login did not work", 409: "This login is taken", 503: "Not available just now"}


def _platform(context: PlatformPage, request: Request) -> Steam:
    found = parts(request).platforms.get(context.__name__)
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
        return bool(self.purpose) and not sessions.is_fresh(from_micros(self.at))

    def fields(self) -> dict[str, str]:
        """Its part of the return address."""
        return {"for": self.purpose, "at": str(self.at)} if self.purpose else {}


def _state(request: Request, journey: Journey) -> str:
    """What only the browser that began can bring back: it hangs on the token of its forms, on who is signed in, and on
    what they wanted, so that whoever wanted to link a login does not come back to a new account.
    """
    secret: str = request.registry.settings["modhub.secret"][0]
    who = request.identify(Credential.ACCOUNT).account_id
    held = f"{get_csrf_token(request)} {who} {journey.purpose} {journey.at}"
    return hmac.digest(derive(secret, "platform state"), held.encode(), "sha256").hex()


def _return_address(request: Request, platform: Steam, wanted: str | None, journey: Journey) -> str:
    base = request.registry.settings["modhub.base_url"]
    given = {"state": _state(request, journey), **journey.fields(), **({"next": wanted} if wanted else {})}
    return f"{base}{HOME}/platform/{platform.name}?{urlencode(given)}"


def _way(request: Request, platform: Steam, return_to: str) -> str:
    return platform.leave(return_to, request.registry.settings["modhub.base_url"])


@page(context=IPlatform, request_method="GET", permission=OPEN, renderer=SAID)
def visit(context: PlatformPage, request: Request) -> Any:
    """Leave for the platform, or come back from it."""
    private(request)
    platform = _platform(context, request)
    try:
        if query(request, "openid.mode") is None:
            return _leave(request, platform)
        return _come_back(request, platform)
    except Refusal as refusal:
        links = [(request.path, "Try once more"), (HOME, "Your account")]
        return refusal_said(request, TITLES.get(refusal.status, TITLES[403]), refusal, links)


def _leave(request: Request, platform: Steam) -> Any:
    """To the platform, to sign in or to prove oneself; who is signed in and says nothing more wants to link a login.

    A link is followed, not a form sent: the policy of our pages lets no form lead elsewhere. So another site could send
    somebody who is signed in here to prove themselves, if they were not asked first.
    """
    wanted = safe_next(query(request, "next"))
    if request.identify(Credential.ACCOUNT) is NOBODY:
        return unstored(Redirect(_way(request, platform, _return_address(request, platform, wanted, Journey()))))
    if query(request, "prove") is None:
        return unstored(Redirect(f"{request.path.rstrip('/')}/link"))
    if request.environ.get("HTTP_SEC_FETCH_SITE") in {"cross-site", "same-site"}:
        line = "Another site has sent you here. Go on only if you want to show that the account is yours."
        return said(request, "Sign in once more", line, links=[(request.path_qs, "Go on"), (HOME, "Your account")])
    return_to = _return_address(request, platform, wanted, Journey.begin(PROVE))
    return unstored(Redirect(_way(request, platform, return_to)))


def _come_back(request: Request, platform: Steam) -> Any:
    wanted, journey = safe_next(query(request, "next")), Journey.read(request)
    return_to = _return_address(request, platform, wanted, journey)
    # The state is judged with the return address that holds it: the provider has signed that very address.
    assertion = platform.judge(request.environ.get("QUERY_STRING", ""), return_to)
    identity = Identity(platform.name, assertion.subject)
    if request.identify(Credential.ACCOUNT) is NOBODY:
        return _arrive(request, assertion, identity, wanted)
    if not journey.purpose or journey.is_over:
        raise refused()
    found = visitor(request)
    assert found.session_id is not None
    with parts(request).databases.writing.begin() as session:
        platforms.use_nonce(session, assertion)
        account = sessions.hold(session, found.account_id, found.session_id)
        if journey.purpose == PROVE:
            platforms.prove(session, account, found.session_id, identity)
            return _rotated(request, session, found, wanted or HOME)
        if platforms.link(session, account, identity):
            own, messages = parts(request), messages_of(request)
            recovery.notify(session, own.writer, account.id, "login linked", messages, client=browser_of(request))
        return _rotated(request, session, found, f"{HOME}?done=linked")


def _rotated(request: Request, session: Session, found: Found, path: str) -> Any:
    """What has proved or changed who may do what gives the session another secret (threats C12)."""
    assert found.session_id is not None
    return unstored(keep(request, Redirect(path), sessions.rotate(session, found.session_id)))


def link_sheet(context: PlatformPage, request: Request) -> Sheet:
    """Consent to leave for the platform, and to come back with a login."""
    title = _platform(context, request).title
    messages = messages_of(request)
    return Sheet(
        messages.gettext("Link a login at %(name)s", name=title),
        "Go on",
        [],
        lead=["Whoever has that login can sign in to your account from then on."],
        links=[(HOME, "Your account")],
    )


@page(
    context=IPlatform,
    name="link",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=SHEET,
    fresh_proof=link_sheet,
)
def link(context: PlatformPage, request: Request) -> Any:
    """``POST /Modhub/account/platform/{provider}/link``: the way to the platform, open for some minutes."""
    platform = _platform(context, request)
    proved(request)
    way = _way(request, platform, _return_address(request, platform, None, Journey.begin(LINK)))
    request.override_renderer = SAID
    text = messages_of(request).gettext("Sign in with %(name)s", name=platform.title)
    line = "Now sign in there with the login that you want to link. The way is open for ten minutes."
    return said(request, "Link a login", line, links=[(way, text), (HOME, "Your account")])


def _arrive(request: Request, assertion: Assertion, identity: Identity, wanted: str | None) -> Any:
    own, registration = parts(request), request.registry.settings["modhub_auth.registration"]
    with own.databases.writing.begin() as session:
        platforms.use_nonce(session, assertion)
        arrived = platforms.arrive(session, identity, registration=registration)
        if not arrived.factor:
            secret = sessions.begin(session, arrived.account, arrived.login, agent_of(request), proved=True)
            return unstored(keep(request, Redirect(wanted or HOME), secret))
        pending = _seal(own, request, arrived)
    request.override_renderer = SHEET
    return _code_sheet(request, pending).show(request)


def _code_sheet(request: Request, pending: str) -> Sheet:
    hint = "Its six digits, or one of your recovery codes."
    fields = [Field("code", "Code of your authenticator", complete="one-time-code", hint=hint)]
    return Sheet("Sign in", "Sign in", fields, hidden={"pending": pending, "next": query(request, "next") or ""})


def _seal(own: Parts, request: Request, arrived: Arrived) -> str:
    return own.pending.close(f"{arrived.login.id} {to_micros(now())}", get_csrf_token(request))


def _opened(own: Parts, request: Request) -> int:
    """The login of somebody who came back a moment ago, in this browser."""
    try:
        opened = own.pending.open(sent(request, "pending"), get_csrf_token(request))
    except ValueError:
        opened = None
    login_id, at = (parse_id(part) for part in (opened or "").partition(" ")[::2])
    # What is from the future has ended too: a clock that is set back lets nothing live longer. Numbers are compared,
    # because not every one of them is a date.
    if login_id is None or at is None or not -_SKEW <= to_micros(now()) - at <= PENDING:
        raise refused()
    return login_id


@page(context=IPlatform, request_method="POST", permission=OPEN, renderer=SHEET)
def give_code(context: PlatformPage, request: Request) -> Any:
    """The code of the authenticator, which a platform's word does not replace."""
    _platform(context, request)
    own = parts(request)
    login_id = _opened(own, request)
    found = own.finder.login(login_id)
    if found is None or found.login_kind != "Platform":
        raise refused()
    try:
        by_code(own, request.registry.settings, found.account_id, sent(request, "code"), caller_of(request))
        account = services.lock_account(request.dbsession, found.account_id)
        login = request.dbsession.get(Login, login_id)
        if account is None or login is None:
            raise refused()
    except Refusal as refusal:
        return _code_sheet(request, sent(request, "pending")).refused(request, refusal)
    return enter(request, account, login, sent(request, "next"), by_platform=True)
