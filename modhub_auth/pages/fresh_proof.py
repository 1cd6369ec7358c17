"""What the pages of a signed-in account share: the current login, the locked account, and fresh proof of its owner.

A view that changes how an account signs in is a :func:`proven_page`. Its GET shows its form with a field for the proof.
 Its POST calls the view once the fields are valid and the proof is given; an ApiError of the view shows the
form again.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from pyramid.viewderivers import VIEW
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth import services
from modhub_auth.container import auth_services
from modhub_auth.models import Account, Login
from modhub_auth.pages.form_pages import FORM_TEMPLATE, FormField, FormPage, code_field, form_value, never_stored
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import AccountPermission, IAccount
from modhub_auth.signin import authentication, recovery, sessions
from modhub_auth.signin.authentication import Proof, reauthenticate
from modhub_auth.signin.session_cookies import browser_name, set_session_cookie

ProvenView = Callable[[Any, Request], Any]
SIGN_IN_AGAIN: Final = N_("Confirm that it's you: sign in again. You will come back to this page.")
PLATFORM_OFF: Final = N_(
    "Sign-in with your account's platform is currently switched off, so you cannot confirm that it's you."
)
_CHECKED_LOGIN: Final = "modhub_auth.proved"


def current_login(request: Request) -> LoginRecord:
    """The visitor's login. Only for views whose permission asks for an account."""
    login: LoginRecord = request.identify(CredentialKind.ACCOUNT).details
    return login


def locked_account(request: Request) -> Account:
    """The visitor's account, locked until the end of the request. 401 if the session has ended by now."""
    login = current_login(request)
    assert login.session_id is not None
    return sessions.lock_session_account(request.dbsession, login.account_id, login.session_id)


def proven_account(request: Request) -> tuple[Account, Login | None]:
    """The locked account, and its password login if the password was the proof; for a view with ``fresh_proof``."""
    login, account = request.environ[_CHECKED_LOGIN], locked_account(request)
    return (account, None) if login is None else services.lock_checked_login(request.dbsession, login, needs_code=False)


def rotate_session(request: Request, response: Any, session: Session | None = None) -> Any:
    """Give the session a new secret, after a change of proof or access (T-C12).

    It is written in the request's transaction, or in that of ``session``.
    """
    session_id = current_login(request).session_id
    assert session_id is not None
    secret = sessions.rotate_page_session(session or request.dbsession, session_id)
    return never_stored(set_session_cookie(request, response, secret))


def send_security_email(request: Request, kind: str, session: Session | None = None, **values: str) -> None:
    """Queue the notice of ``kind`` to the owner of the visitor's account; ``client`` is the browser unless told."""
    told = {"client": browser_name(request), **values}
    notify_account(request, current_login(request).account_id, kind, session, **told)


def notify_account(
    request: Request, account_id: int | None, kind: str, session: Session | None = None, **values: str
) -> None:
    """Queue the notice in the language of this page and the request's transaction, or in that of ``session``."""
    outbox, messages = auth_services(request).outbox, translations_for(request)
    recovery.queue_security_email(session or request.dbsession, outbox, account_id, kind, messages, **values)


def ask_for_proof(request: Request, form: FormPage) -> Proof:
    """Add the field for the proof, and return which it is.

    If only a platform can prove it, GET shows the links there and no fields.
    """
    required = authentication.required_proof(auth_services(request), current_login(request))
    if required is Proof.PASSWORD:
        form.fields.insert(0, FormField("currentPassword", N_("Current password"), "password", "current-password"))
    elif required is Proof.CODE:
        form.fields.insert(0, code_field())
    elif required is Proof.PLATFORM:
        messages = translations_for(request)
        for platform in auth_services(request).platforms.values():
            prove_url = f"/Modhub/account/platform/{platform.name}?{urlencode({'prove': '1', 'next': request.path_qs})}"
            form.alternatives.append((prove_url, messages.gettext("Sign in with %(name)s", name=platform.title)))
        if request.is_safe:
            form.fields, form.button = [], ""
            form.lead.append(SIGN_IN_AGAIN if form.alternatives else PLATFORM_OFF)
    return required


def _check_proof(request: Request, required: Proof) -> Any:
    """Check the proof; the login of a correct password, which is checked again once the account is locked."""
    account_id = current_login(request).account_id
    if required is Proof.PLATFORM:
        raise authentication.proof_required()
    if required is Proof.CODE:
        authentication.prove_by_code(request, account_id, form_value(request, "code"))
    if required is not Proof.PASSWORD:
        return None
    return reauthenticate(request, account_id, form_value(request, "currentPassword"))


def fresh_proof_deriver(view: ProvenView, info: Any) -> ProvenView:
    """The view deriver for ``fresh_proof``, a function of context and request that makes the form."""
    make_form: Callable[[Any, Request], FormPage] | None = info.options.get("fresh_proof")
    if make_form is None:
        return view

    def proven_view(context: Any, request: Request) -> Any:
        form = make_form(context, request)
        required = ask_for_proof(request, form)
        if request.is_safe:
            return form.show(request)
        errors = form.input_errors(request)
        if errors:
            return form.show_errors(request, *errors)
        try:
            request.environ[_CHECKED_LOGIN] = _check_proof(request, required)
            return view(context, request)
        except ApiError as error:
            return form.show_errors(request, error)

    return proven_view


fresh_proof_deriver.options = ("fresh_proof",)  # type: ignore[attr-defined]


def proven_page(
    make_form: Callable[[Any, Request], FormPage],
    *,
    name: str = "",
    context: Any = IAccount,
    renderer: str = FORM_TEMPLATE,
) -> Callable[[ProvenView], ProvenView]:
    """Declare a page with a form that asks for fresh proof; the view is what the form does."""
    return page(
        context=context,
        name=name,
        request_method=("GET", "POST"),
        permission=AccountPermission.CHANGE,
        renderer=renderer,
        fresh_proof=make_form,
    )


def includeme(config: Any) -> None:
    """Add the view option. It works inside the renderer, which renders its form."""
    config.add_view_deriver(fresh_proof_deriver, "fresh_proof", under="rendered_view", over=VIEW)
