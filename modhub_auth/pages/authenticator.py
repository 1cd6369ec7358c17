"""Adding and removing an authenticator, and its recovery codes (C-PAGE-4; RFC 6238).

The proposed secret is derived from the visitor's session and the time, and stored only after its first
code was accepted.
"""

from typing import Any, Final

import segno
from markupsafe import Markup

from modhub.audit import record
from modhub.base.errors import ApiError, conflict
from modhub.content.text import N_
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.web.own_cookies import own_cookie
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import HOME, YOUR_ACCOUNT, FormField, FormPage, form_value, never_store
from modhub_auth.pages.fresh_proof import (
    current_login,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.signin import sessions, totp
from modhub_auth.signin.session_cookies import SESSION_COOKIE

AUTHENTICATOR_TEMPLATE: Final = "modhub_auth:templates/account/authenticator.jinja2"
CODES_TEMPLATE: Final = "modhub_auth:templates/account/codes.jinja2"
RECOVERY: Final = f"{HOME}/recovery-codes"
PERIOD: Final = "period"
"""The hidden field that says when the form's secret was proposed (:class:`totp.AuthenticatorProposals`)."""
EXPIRED: Final = N_(
    "The key that was shown here has expired. Add the new one to the app, then enter the code that it shows."
)
QR_SCALE: Final = 4


def add_authenticator_form(request: Request) -> FormPage:
    """The form that shows the proposed secret and asks for its first code."""
    hint, period = N_("The six digits that the app shows now."), proposal_period(request)
    secret = auth_services(request).proposals.secret(own_cookie(request, SESSION_COOKIE), period)
    address = totp.provisioning_uri(secret, current_login(request).subject, PageHelpers(request).site_name)
    drawing = segno.make(address, micro=False).svg_inline(scale=QR_SCALE, light="#fff", dark="#000")
    return FormPage(
        "Add an authenticator",
        N_("Add authenticator"),
        [FormField("code", N_("Code"), autocomplete="one-time-code", inputmode="numeric", hint=hint)],
        lead=[
            N_(
                "An authenticator is an app that shows a new code every 30 seconds. "
                "Scan the QR code with it or type in the key, then enter the code that it shows."
            )
        ],
        links=[YOUR_ACCOUNT],
        hidden={PERIOD: str(period)},
        # Safe markup: Segno draws it, and it holds no text.
        template_values={"secret": secret, "picture": Markup(drawing), "address": address},  # noqa: S704
    )


def remove_authenticator_form() -> FormPage:
    """The form to remove the authenticator."""
    return FormPage(
        "Remove authenticator",
        N_("Remove authenticator"),
        [],
        lead=[N_("You will no longer be asked for a code when you sign in, and your recovery codes stop working.")],
        links=[(RECOVERY, "Create new recovery codes"), YOUR_ACCOUNT],
        danger=True,
        template_values={"secret": ""},
    )


def proposal_period(request: Request) -> int:
    """The period of the submitted form's secret while that is valid, else the current period."""
    return auth_services(request).proposals.period(form_value(request, PERIOD))


def authenticator_form(_context: Any, request: Request) -> FormPage:
    """The form to remove the authenticator if there is one, else to add it."""
    active = auth_services(request).account_reader.has_authenticator(current_login(request).account_id)
    return remove_authenticator_form() if active else add_authenticator_form(request)


@proven_page(authenticator_form, name="authenticator", renderer=AUTHENTICATOR_TEMPLATE)
def authenticator_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/authenticator``: add it by its first code, or remove it.

    An add form sent twice does not remove it: the form has both a password and a code, or its code is used up.
    """
    if not auth_services(request).account_reader.has_authenticator(current_login(request).account_id):
        return _add_authenticator(request)
    if "currentPassword" in request.POST and "code" in request.POST:
        message = N_(
            "The authenticator has already been added. "
            "If you have not seen its recovery codes, create new ones on this page."
        )
        raise conflict("authenticator_present", message)
    account, _ = proven_account(request)
    totp.remove_authenticator(request.dbsession, account.id)
    send_security_email(request, "factor removed")
    return rotate_session(request, account_done("removed"))


def _add_authenticator(request: Request) -> dict[str, Any]:
    account, _ = proven_account(request)
    period = proposal_period(request)
    if form_value(request, PERIOD) not in {"", str(period)}:
        raise ApiError(400, "proposal_expired", EXPIRED)
    services, code = auth_services(request), form_value(request, "code")
    secret = services.proposals.proven_secret(own_cookie(request, SESSION_COOKIE), period, code)
    codes = totp.add_authenticator(request.dbsession, services.secret_box, account.id, secret, code)
    sessions.forget_proofs(request.dbsession, account.id)
    send_security_email(request, "factor added")
    return _show_codes(request, codes, N_("The authenticator was added."))


def _show_codes(request: Request, codes: list[str], sentence: str) -> dict[str, Any]:
    rotate_session(request, request.response)
    request.override_renderer = CODES_TEMPLATE
    never_store(request)
    return {"codes": codes, "sentence": sentence}


def recovery_codes_form(_context: Any, _request: Request) -> FormPage:
    """The form to replace the recovery codes."""
    return FormPage(
        "Create new recovery codes",
        N_("Create codes"),
        [],
        lead=[N_("Your recovery codes will stop working, and you get ten new ones.")],
        links=[YOUR_ACCOUNT],
    )


@proven_page(recovery_codes_form, name="recovery-codes")
def recovery_codes_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/recovery-codes``: ten new codes, if there is an authenticator."""
    account, _ = proven_account(request)
    if not totp.has_authenticator(request.dbsession, account.id):
        return Redirect(f"{HOME}/authenticator")
    codes = totp.renew_recovery_codes(request.dbsession, account.id)
    record(request.dbsession, "recovery codes renewed", "account", account.id)
    send_security_email(request, "codes renewed")
    return _show_codes(request, codes, N_("Your old recovery codes no longer work."))
