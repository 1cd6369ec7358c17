"""What pages of a signed-in account share: who it is, its row locked, and fresh proof that its owner is still there.

A view that changes who may enter an account declares ``fresh_proof=sheet``. Its GET shows that sheet with the field for
the proof. Its POST is the view, which runs once the fields are right and the proof was given; what it refuses shows the
sheet again.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from pyramid.viewderivers import VIEW

from modhub.errors import ApiError
from modhub.request import Request
from modhub.security.identity import CredentialKind
from modhub.text import N_
from modhub.ui.template_helpers import translations_for
from modhub_auth import services
from modhub_auth.container import auth_services
from modhub_auth.models import Account, Login
from modhub_auth.pages.form_pages import FormField, FormPage, never_stored, sent_value
from modhub_auth.pages.user_agents import browser_of
from modhub_auth.rate_limits import caller_of
from modhub_auth.read_service import LoginRecord
from modhub_auth.signin import page_sessions, proof, recovery
from modhub_auth.signin.authentication import reauthenticate
from modhub_auth.signin.proof import Proof
from modhub_auth.signin.session_cookies import set_session_cookie

ProvenView = Callable[[Any, Request], Any]
AGAIN: Final = N_("Confirm that it's you: sign in again. You will come back to this page.")
SWITCHED_OFF: Final = N_(
    "Sign-in with your account's platform is currently switched off, so you cannot confirm that it's you."
)
_PROVED: Final = "modhub_auth.proved"


def current_login(request: Request) -> LoginRecord:
    """Who is signed in; only behind a permission that asks for an account."""
    found: LoginRecord = request.identify(CredentialKind.ACCOUNT).details
    return found


def locked_account(request: Request) -> Account:
    """The visitor's account, its row locked until the end of the request. 401 when the session has ended meanwhile."""
    found = current_login(request)
    assert found.session_id is not None
    return page_sessions.hold_session(request.dbsession, found.account_id, found.session_id)


def proven_account(request: Request) -> tuple[Account, Login | None]:
    """The account, locked, and its login by password, where that was the proof; for a view with ``fresh_proof``."""
    checked = request.environ[_PROVED]
    account = locked_account(request)
    return (account, None) if checked is None else services.still_right(request.dbsession, checked)


def rotate_session(request: Request, response: Any) -> Any:
    """What has changed who may do what gives the session another secret (T-C12)."""
    session_id = current_login(request).session_id
    assert session_id is not None
    return never_stored(
        set_session_cookie(request, response, page_sessions.rotate_page_session(request.dbsession, session_id))
    )


def send_security_email(request: Request, kind: str) -> None:
    """Tell the owner of the visitor's account by email what has been done to it."""
    own, account_id = auth_services(request), current_login(request).account_id
    messages = translations_for(request)
    recovery.queue_security_email(request.dbsession, own.writer, account_id, kind, messages, client=browser_of(request))


def _ask(request: Request, sheet: FormPage, wanted: Proof) -> None:
    """Put what is wanted into the sheet; where only a platform can prove it, GET shows the way there alone."""
    if wanted is Proof.PASSWORD:
        sheet.fields.insert(0, FormField("currentPassword", N_("Current password"), "password", "current-password"))
    elif wanted is Proof.CODE:
        hint = N_("The six digits it shows, or one of your recovery codes.")
        sheet.fields.insert(0, FormField("code", N_("Authenticator code"), complete="one-time-code", hint=hint))
    elif wanted is Proof.PLATFORM:
        messages = translations_for(request)
        for one in auth_services(request).platforms.values():
            way = f"/Modhub/account/platform/{one.name}?{urlencode({'prove': '1', 'next': request.path_qs})}"
            sheet.doors.append((way, messages.gettext("Sign in with %(name)s", name=one.title)))
        if request.is_safe:
            sheet.fields, sheet.button = [], ""
            sheet.lead.append(AGAIN if sheet.doors else SWITCHED_OFF)


def _prove(request: Request, wanted: Proof) -> Any:
    """Judge the proof; what a password was checked against is looked at again once the account is locked."""
    own, settings, account_id = auth_services(request), request.registry.settings, current_login(request).account_id
    if wanted is Proof.PLATFORM:
        raise proof.proof_required()
    if wanted is Proof.CODE:
        proof.prove_by_code(own, settings, account_id, sent_value(request, "code"), caller_of(request))
    if wanted is not Proof.PASSWORD:
        return None
    return reauthenticate(own, settings, account_id, sent_value(request, "currentPassword"), caller_of(request))


def fresh_proof_deriver(view: ProvenView, info: Any) -> ProvenView:
    """The view deriver of the option ``fresh_proof``: a function of context and request that makes the sheet."""
    make: Callable[[Any, Request], FormPage] | None = info.options.get("fresh_proof")
    if make is None:
        return view

    def proven_view(context: Any, request: Request) -> Any:
        sheet, wanted = make(context, request), proof.required_proof(auth_services(request), current_login(request))
        _ask(request, sheet, wanted)
        if request.is_safe:
            return sheet.show(request)
        wrong = sheet.faults(request)
        if wrong:
            return sheet.refused(request, *wrong)
        try:
            request.environ[_PROVED] = _prove(request, wanted)
            return view(context, request)
        except ApiError as refusal:
            return sheet.refused(request, refusal)

    return proven_view


fresh_proof_deriver.options = ("fresh_proof",)  # type: ignore[attr-defined]


def includeme(config: Any) -> None:
    """The option, inside the renderer: what it shows is a sheet."""
    config.add_view_deriver(fresh_proof_deriver, "fresh_proof", under="rendered_view", over=VIEW)
