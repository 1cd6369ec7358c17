"""Adding and removing an authenticator, and its recovery codes (decisions 3.10, 9; RFC 6238).

The secret that a page proposes comes from the visitor's session and is stored nowhere before its first code has come.
"""

from typing import Any, Final

import segno
from markupsafe import Markup

from modhub.errors import conflict
from modhub.pages.answers import Redirect
from modhub.request import Request
from modhub.views import page
from modhub_auth import factor, sessions
from modhub_auth.cookies import cookie_name
from modhub_auth.interfaces import IAccount
from modhub_auth.journal import note
from modhub_auth.pages.account import done
from modhub_auth.pages.proof import proved, rotated, tell, visitor
from modhub_auth.pages.sheets import SHEET, Field, Sheet, private, sent
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts
from modhub_auth.resources import AccountPermission

AUTHENTICATOR: Final = "modhub_auth:templates/account/authenticator.jinja2"
CODES: Final = "modhub_auth:templates/account/codes.jinja2"
RECOVERY: Final = f"{HOME}/recovery-codes"
QR_SCALE: Final = 4


def add_sheet(request: Request) -> Sheet:
    """The first code of the authenticator that gets the secret shown here."""
    hint, secret = "The six digits that the app shows now.", proposal(request)
    address = factor.address_for_qr(secret, visitor(request).subject)
    drawing = segno.make(address, micro=False).svg_inline(scale=QR_SCALE, light="#fff", dark="#000")
    return Sheet(
        "Add an authenticator",
        "Add it",
        [Field("code", "Code", complete="one-time-code", keys="numeric", hint=hint)],
        lead=[
            "An authenticator is an app that shows another code every half minute. Scan the picture with it, or type "
            "the secret into it; then give the code that it shows."
        ],
        links=[(HOME, "Your account")],
        # Segno draws it; it holds no text.
        more={"secret": secret, "picture": Markup(drawing), "address": address},  # noqa: S704
    )


def remove_sheet() -> Sheet:
    """What goes."""
    return Sheet(
        "Remove the authenticator",
        "Remove it",
        [],
        lead=["Signing in will no longer ask for a code. Your recovery codes go too."],
        links=[(RECOVERY, "Make new recovery codes"), (HOME, "Your account")],
        danger=True,
        more={"secret": ""},
    )


def proposal(request: Request) -> str:
    """The secret that this session proposes."""
    return parts(request).proposals.secret(request.cookies[cookie_name(request)])


def authenticator_sheet(_context: Any, request: Request) -> Sheet:
    """To remove the authenticator, where there is one, else to add it."""
    active = parts(request).finder.has_factor(visitor(request).account_id)
    return remove_sheet() if active else add_sheet(request)


@page(
    context=IAccount,
    name="authenticator",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=AUTHENTICATOR,
    fresh_proof=authenticator_sheet,
)
def change_authenticator(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/authenticator``: add it by its first code, or remove it.

    A form to add it that arrives twice does not remove it: it has both a password and a code, or its code is used up.
    """
    if not parts(request).finder.has_factor(visitor(request).account_id):
        return _add(request)
    if "currentPassword" in request.POST and "code" in request.POST:
        message = (
            "The authenticator is added already. If you have not seen its recovery codes, make new ones on this page."
        )
        raise conflict("authenticator_present", message)
    account, _ = proved(request)
    factor.remove(request.dbsession, account.id)
    tell(request, "factor removed")
    return rotated(request, done("removed"))


def _add(request: Request) -> dict[str, Any]:
    account, _ = proved(request)
    codes = factor.add(request.dbsession, parts(request).seal, account.id, proposal(request), sent(request, "code"))
    sessions.forget_proofs(request.dbsession, account.id)
    tell(request, "factor added")
    return _shown(request, codes, "The authenticator is added.")


def _shown(request: Request, codes: list[str], sentence: str) -> dict[str, Any]:
    rotated(request, request.response)
    request.override_renderer = CODES
    private(request)
    return {"codes": codes, "sentence": sentence}


def codes_sheet(_context: Any, _request: Request) -> Sheet:
    """Consent to lose the old ones."""
    return Sheet(
        "Make new recovery codes",
        "Make them",
        [],
        lead=["Your recovery codes work no longer then; you get ten new ones."],
        links=[(HOME, "Your account")],
    )


@page(
    context=IAccount,
    name="recovery-codes",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=SHEET,
    fresh_proof=codes_sheet,
)
def renew_codes(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/recovery-codes``: ten new ones, where there is an authenticator."""
    account, _ = proved(request)
    if not factor.is_active(request.dbsession, account.id):
        return Redirect(f"{HOME}/authenticator")
    codes = factor.renew_recovery_codes(request.dbsession, account.id)
    note("recovery codes renewed", account=account.id)
    tell(request, "codes renewed")
    return _shown(request, codes, "Your old recovery codes work no longer.")
