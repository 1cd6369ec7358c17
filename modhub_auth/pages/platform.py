"""``/Modhub/account/platform/{provider}``: leave for a game platform, and come back from it (decisions 3.9).

The return is a GET that another site brings about, so it may only do what a state says that this browser began; it
writes in a transaction of its own.
"""

import hmac
from typing import Any, Final
from urllib.parse import urlencode

from pyramid.csrf import get_csrf_token

from modhub.db import now, to_micros
from modhub.errors import Refusal, not_found
from modhub.identity import NOBODY, Credential
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.tree import parse_id
from modhub.views import OPEN, page
from modhub_auth import platforms, services, sessions
from modhub_auth.cookies import keep, safe_next
from modhub_auth.interfaces import IPlatform
from modhub_auth.limits import caller_of, counter
from modhub_auth.models import Login
from modhub_auth.openid import Assertion, Steam, refused
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, private, refusal_said, said, sent, unstored
from modhub_auth.pages.signing import HOME, agent_of, enter
from modhub_auth.parts import Parts, parts
from modhub_auth.platforms import Arrived, Identity
from modhub_auth.resources import PlatformPage
from modhub_auth.signing import use_code
from modhub_auth.tokens import derive

PENDING: Final = 10 * 60 * 1_000_000
"""How long somebody has to give the code after coming back, in microseconds."""
_SKEW: Final = 5 * 1_000_000
TITLES: Final = {403: "The login did not work", 409: "This login is taken", 503: "Not available just now"}


def _platform(context: PlatformPage, request: Request) -> Steam:
    found = parts(request).platforms.get(context.__name__)
    if found is None:
        raise not_found()
    return found


def _state(request: Request) -> str:
    """What only the browser that began can bring back: it hangs on the token of its forms, and on who is signed in, so
    that whoever wanted to link a login does not come back to a new account.
    """
    secret: str = request.registry.settings["modhub.secret"][0]
    held = f"{get_csrf_token(request)} {request.identify(Credential.ACCOUNT).account_id}"
    return hmac.digest(derive(secret, "platform state"), held.encode(), "sha256").hex()


def _return_address(request: Request, platform: Steam, wanted: str | None) -> str:
    base = request.registry.settings["modhub.base_url"]
    given = {"state": _state(request), **({"next": wanted} if wanted else {})}
    return f"{base}{HOME}/platform/{platform.name}?{urlencode(given)}"


@page(context=IPlatform, request_method="GET", permission=OPEN, renderer=SAID)
def visit(context: PlatformPage, request: Request) -> Any:
    """Leave for the platform, or come back from it."""
    private(request)
    platform, wanted = _platform(context, request), safe_next(query(request, "next"))
    return_to = _return_address(request, platform, wanted)
    try:
        if query(request, "openid.mode") is None:
            return _leave(request, platform, return_to)
        # The state is judged with the return address that holds it: the provider has signed that very address.
        assertion = platform.judge(request.environ.get("QUERY_STRING", ""), return_to)
        identity = Identity(platform.name, assertion.subject)
        if request.identify(Credential.ACCOUNT) is NOBODY:
            return _arrive(request, assertion, identity, wanted)
        return _link(request, assertion, identity)
    except Refusal as refusal:
        links = [(request.path, "Try once more"), (HOME, "Your account")]
        return refusal_said(request, TITLES.get(refusal.status, TITLES[403]), refusal, links)


def _leave(request: Request, platform: Steam, return_to: str) -> Any:
    """To the platform; where another site has sent somebody who is signed in here, only when they ask for it.

    A link is followed, not a form sent: the policy of our pages lets no form lead elsewhere. So another site could have
    the login of somebody else linked who is signed in at the platform, if it was not asked first.
    """
    elsewhere = request.environ.get("HTTP_SEC_FETCH_SITE") in {"cross-site", "same-site"}
    if elsewhere and request.identify(Credential.ACCOUNT) is not NOBODY:
        line = "Another site has sent you here. Go on only if you want to link a login to your account."
        return said(request, "Link a login", line, links=[(request.path, "Go on"), (HOME, "Your account")])
    return unstored(Redirect(platform.leave(return_to, request.registry.settings["modhub.base_url"])))


def _link(request: Request, assertion: Assertion, identity: Identity) -> Any:
    own, account_id = parts(request), request.identify(Credential.ACCOUNT).account_id
    assert account_id is not None
    with own.databases.writing.begin() as session:
        platforms.use_nonce(session, assertion)
        platforms.link(session, own.writer, account_id, identity, messages_of(request))
    return unstored(Redirect(HOME))


def _arrive(request: Request, assertion: Assertion, identity: Identity, wanted: str | None) -> Any:
    own, registration = parts(request), request.registry.settings["modhub_auth.registration"]
    with own.databases.writing.begin() as session:
        platforms.use_nonce(session, assertion)
        arrived = platforms.arrive(session, identity, registration=registration)
        if not arrived.factor:
            secret = sessions.begin(session, arrived.account, arrived.login, agent_of(request))
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
    platform, own = _platform(context, request), parts(request)
    login_id = _opened(own, request)
    found = own.finder.login(login_id)
    if found is None or found.login_kind != "Platform":
        raise refused()
    most = request.registry.settings["modhub_auth.failures"]
    counters = [
        counter("sign-in address", f"{platform.name} {found.subject}", most),
        counter("sign-in caller", caller_of(request), most),
    ]
    try:
        with own.limits.attempt(counters) as place:
            if not use_code(own, found.account_id, sent(request, "code")):
                place.failed = True
                raise services.second_factor_required()
        account = services.lock_account(request.dbsession, found.account_id)
        login = request.dbsession.get(Login, login_id)
        if account is None or login is None:
            raise refused()
    except Refusal as refusal:
        return _code_sheet(request, sent(request, "pending")).refused(request, refusal)
    return enter(request, account, login, sent(request, "next"))
