"""Allowing a program to sign in, by the code that it shows (C-ACC-30). The code is always typed: no link carries it."""

from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.base.security_log import log_event
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth.container import auth_services
from modhub_auth.mail.outbox import without_links
from modhub_auth.pages.form_pages import (
    FORM_TEMPLATE,
    HOME,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    form_value,
    message_page,
)
from modhub_auth.pages.fresh_proof import (
    ask_for_proof,
    current_login,
    locked_account,
    proven_account,
    rotate_session,
    send_security_email,
)
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.resources import AccountPermission, IAccount
from modhub_auth.signin import device_codes
from modhub_auth.signin.authentication import Proof, required_proof
from modhub_auth.signin.device_codes import PendingCode

DEVICE: Final = "modhub_auth:templates/account/device.jinja2"
WRONG_CODES: Final = 10
"""Wrong codes per account and per caller in the window."""
TITLE: Final = N_("Sign in a program")


def _code_form() -> FormPage:
    hint = N_("Eight letters, such as BCDF-GHJK. Capitals, spaces and hyphens do not matter.")
    return FormPage(
        TITLE,
        N_("Continue"),
        [FormField("userCode", N_("Code shown by the program"), hint=hint)],
        lead=[N_("Enter the code that the program shows. Never enter one that somebody else has sent you.")],
        links=[YOUR_ACCOUNT],
    )


def _find_program(request: Request) -> PendingCode:
    """The program whose code was typed; 400 for a wrong code, 429 after ten of them."""
    auth, account_id, caller = auth_services(request), current_login(request).account_id, caller_of(request)
    counters = [
        rate_counter("device code account", str(account_id), WRONG_CODES),
        rate_counter("device code caller", caller, WRONG_CODES),
    ]
    with auth.rate_limiter.attempt(counters) as slot, request.databases.readonly_session() as session:
        program = device_codes.find_pending(session, request.registry.settings, form_value(request, "userCode"))
        if program is None:
            slot.failed = True
            log_event("device code refused", account=account_id, caller=caller)
            raise device_codes.unknown_code()
        return program


def decision_form(_context: Any, request: Request) -> FormPage:
    """The form that names the program and offers to allow or deny it."""
    program = _find_program(request)
    return FormPage(
        TITLE,
        N_("Allow"),
        [],
        links=[(f"{HOME}/device", N_("Enter another code"))],
        hidden={"userCode": form_value(request, "userCode")},
        template_values={"program": program},
    )


@page(
    context=IAccount,
    name="device",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=FORM_TEMPLATE,
)
def device_page(context: Any, request: Request) -> dict[str, Any]:
    """``/Modhub/account/device``: the form for the code, and what it leads to; with ``deny``, nothing signs in."""
    form = _code_form()
    if request.is_safe:
        # Who has to prove themselves elsewhere does so first: the code would be lost on the way.
        if required_proof(auth_services(request), current_login(request)) is Proof.PLATFORM:
            ask_for_proof(request, form)
        return form.show(request)
    try:
        decision = decision_form(context, request)
        if "deny" in request.POST:
            return _deny(request)
    except ApiError as error:
        return form.show_errors(request, error)
    ask_for_proof(request, decision)
    request.override_renderer = DEVICE
    return decision.show(request)


def _deny(request: Request) -> dict[str, Any]:
    locked_account(request)
    device_codes.deny(request.dbsession, request.registry.settings, form_value(request, "userCode"))
    return _decided(request, "device_denied", N_("The program was denied"), N_("It is not signed in."))


@page(
    context=IAccount,
    name="device",
    request_method="POST",
    request_param="allow",
    permission=AccountPermission.CHANGE,
    renderer=DEVICE,
    fresh_proof=decision_form,
)
def allow_device_page(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/account/device`` with ``allow``: the program may fetch its session, which this login begins."""
    account, _ = proven_account(request)
    program = device_codes.allow(
        request.dbsession,
        request.registry.settings,
        form_value(request, "userCode"),
        account.id,
        current_login(request).login_id,
    )
    client = without_links(program.label) or translations_for(request).gettext("A program")
    send_security_email(request, "program allowed", client)
    rotate_session(request, request.response)
    return _decided(
        request, "device_allowed", N_("The program was allowed"), N_("Go back to it: it signs in by itself.")
    )


def _decided(request: Request, message_id: str, title: str, line: str) -> dict[str, Any]:
    return message_page(request, message_id, title, line, links=[YOUR_ACCOUNT])
