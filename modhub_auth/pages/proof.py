"""What pages of a signed-in account share: who it is, its row locked, and fresh proof that its owner is still there.

A view that changes who may enter an account declares ``fresh_proof=sheet``. Its GET shows that sheet with the field for
the proof. Its POST is the view, which runs once the fields are right and the proof was given; what it refuses shows the
sheet again.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from pyramid.viewderivers import VIEW

from modhub.errors import Refusal
from modhub.identity import Credential
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub_auth import proving, recovery, services, sessions
from modhub_auth.cookies import keep
from modhub_auth.finding import Found
from modhub_auth.limits import caller_of
from modhub_auth.models import Account, Login
from modhub_auth.pages.agents import browser_of
from modhub_auth.pages.sheets import Field, Sheet, sent, unstored
from modhub_auth.parts import parts
from modhub_auth.proving import Proof
from modhub_auth.signing import prove

View = Callable[[Any, Request], Any]
AGAIN: Final = "First show that it is still you: sign in once more. You come back to this page."
SWITCHED_OFF: Final = "The platform of your account is switched off just now, so nothing can show that it is still you."
_PROVED: Final = "modhub_auth.proved"


def visitor(request: Request) -> Found:
    """Who is signed in; only behind a permission that asks for an account."""
    found: Found = request.identify(Credential.ACCOUNT).details
    return found


def locked(request: Request) -> Account:
    """The visitor's account, its row locked until the end of the request. 401 when the session has ended meanwhile."""
    found = visitor(request)
    assert found.session_id is not None
    return sessions.hold(request.dbsession, found.account_id, found.session_id)


def proved(request: Request) -> tuple[Account, Login | None]:
    """The account, locked, and its login by password, where that was the proof; for a view with ``fresh_proof``."""
    checked = request.environ[_PROVED]
    account = locked(request)
    return (account, None) if checked is None else services.still_right(request.dbsession, checked)


def rotated(request: Request, response: Any) -> Any:
    """What has changed who may do what gives the session another secret (threats C12)."""
    session_id = visitor(request).session_id
    assert session_id is not None
    return unstored(keep(request, response, sessions.rotate(request.dbsession, session_id)))


def tell(request: Request, kind: str) -> None:
    """Tell the owner of the visitor's account by email what has been done to it."""
    own, account_id = parts(request), visitor(request).account_id
    messages = messages_of(request)
    recovery.notify(request.dbsession, own.writer, account_id, kind, messages, client=browser_of(request))


def _ask(request: Request, sheet: Sheet, wanted: Proof) -> None:
    """Put what is wanted into the sheet; where only a platform can prove it, GET shows the way there alone."""
    if wanted is Proof.PASSWORD:
        sheet.fields.insert(0, Field("currentPassword", "Current password", "password", "current-password"))
    elif wanted is Proof.CODE:
        hint = "Its six digits, or one of your recovery codes."
        sheet.fields.insert(0, Field("code", "Code of your authenticator", complete="one-time-code", hint=hint))
    elif wanted is Proof.PLATFORM:
        messages = messages_of(request)
        for one in parts(request).platforms.values():
            way = f"/Modhub/account/platform/{one.name}?{urlencode({'prove': '1', 'next': request.path_qs})}"
            sheet.doors.append((way, messages.gettext("Sign in with %(name)s", name=one.title)))
        if request.is_safe:
            sheet.fields, sheet.button = [], ""
            sheet.lead.append(AGAIN if sheet.doors else SWITCHED_OFF)


def _prove(request: Request, wanted: Proof) -> Any:
    """Judge the proof; what a password was checked against is looked at again once the account is locked."""
    own, settings, account_id = parts(request), request.registry.settings, visitor(request).account_id
    if wanted is Proof.PLATFORM:
        raise proving.needed()
    if wanted is Proof.CODE:
        proving.by_code(own, settings, account_id, sent(request, "code"), caller_of(request))
    if wanted is not Proof.PASSWORD:
        return None
    return prove(own, settings, account_id, sent(request, "currentPassword"), caller_of(request))


def fresh_proof(view: View, info: Any) -> View:
    """The view deriver of the option ``fresh_proof``: a function of context and request that makes the sheet."""
    make: Callable[[Any, Request], Sheet] | None = info.options.get("fresh_proof")
    if make is None:
        return view

    def proven_view(context: Any, request: Request) -> Any:
        sheet, wanted = make(context, request), proving.wanted(parts(request), visitor(request))
        _ask(request, sheet, wanted)
        if request.is_safe:
            return sheet.show(request)
        wrong = sheet.faults(request)
        if wrong:
            return sheet.refused(request, *wrong)
        try:
            request.environ[_PROVED] = _prove(request, wanted)
            return view(context, request)
        except Refusal as refusal:
            return sheet.refused(request, refusal)

    return proven_view


fresh_proof.options = ("fresh_proof",)  # type: ignore[attr-defined]


def includeme(config: Any) -> None:
    """The option, inside the renderer: what it shows is a sheet."""
    config.add_view_deriver(fresh_proof, "fresh_proof", under="rendered_view", over=VIEW)
