"""Adding and removing an authenticator (decisions 3.10, 9; RFC 6238).

The secret that a page proposes comes from the visitor's session and is stored nowhere before its first code has come.
"""

from typing import Any, Final

import segno
from markupsafe import Markup

from modhub.errors import Refusal, conflict
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.views import page
from modhub_auth import factor, recovery, services
from modhub_auth.cookies import cookie_name
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of, counter
from modhub_auth.pages.account import current_password, done, locked, own_password, proved, rotated, visitor
from modhub_auth.pages.sheets import Field, Sheet, private, sent
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts
from modhub_auth.resources import AccountPermission
from modhub_auth.signing import use_code

AUTHENTICATOR: Final = "modhub_auth:templates/account/authenticator.jinja2"
CODES: Final = "modhub_auth:templates/account/codes.jinja2"
QR_SCALE: Final = 4


def add_sheet() -> Sheet:
    """The first code."""
    hint = "The six digits that the app shows now."
    return Sheet(
        "Add an authenticator",
        "Add it",
        [Field("code", "Code", complete="one-time-code", keys="numeric", hint=hint)],
        lead=[
            "An authenticator is an app that shows another code every half minute. Scan the picture with it, or type "
            "the secret into it; then give the code that it shows."
        ],
        links=[(HOME, "Your account")],
    )


def remove_sheet(request: Request) -> Sheet:
    """The password that takes the authenticator away; a code of it, where the account has no password."""
    hint = "Its six digits, or one of your recovery codes."
    code = Field("code", "Code of your authenticator", complete="one-time-code", hint=hint)
    return Sheet(
        "Remove the authenticator",
        "Remove it",
        current_password(request) or [code],
        lead=["Signing in will no longer ask for a code. Your recovery codes go too."],
        links=[(HOME, "Your account")],
        danger=True,
    )


def proposal(request: Request) -> str:
    """The secret that this session proposes."""
    return parts(request).proposals.secret(request.cookies[cookie_name(request)])


def _page(request: Request, *refusals: Refusal, active: bool) -> dict[str, Any]:
    sheet = remove_sheet(request) if active else add_sheet()
    more: dict[str, Any] = {"secret": "", "picture": "", "address": ""}
    if not active:
        secret = proposal(request)
        address = factor.address_for_qr(secret, visitor(request).subject)
        drawing = segno.make(address, micro=False).svg_inline(scale=QR_SCALE, light="#fff", dark="#000")
        # Segno draws it; it holds no text.
        more = {"secret": secret, "picture": Markup(drawing), "address": address}  # noqa: S704
    return sheet.refused(request, *refusals, **more) if refusals else sheet.show(request, **more)


def _is_active(request: Request) -> bool:
    with request.databases.reading() as session:
        return factor.is_active(session, visitor(request).account_id)


@page(
    context=IAccount,
    name="authenticator",
    request_method="GET",
    permission=AccountPermission.CHANGE,
    renderer=AUTHENTICATOR,
)
def authenticator(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/authenticator``"""
    return _page(request, active=_is_active(request))


@page(
    context=IAccount,
    name="authenticator",
    request_method="POST",
    permission=AccountPermission.CHANGE,
    renderer=AUTHENTICATOR,
)
def change_authenticator(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/authenticator``: add it by its first code, or remove it by the password.

    A form to add it that arrives twice does not remove it: it lacks the password, or its code has been used up.
    """
    active = _is_active(request)
    try:
        return _remove(request) if active else _add(request)
    except Refusal as refusal:
        return _page(request, refusal, active=active)


def _add(request: Request) -> dict[str, Any]:
    own, account = parts(request), locked(request)
    codes = factor.add(request.dbsession, own.seal, account.id, proposal(request), sent(request, "code"))
    recovery.notify(request.dbsession, own.writer, account.id, "factor added", messages_of(request))
    rotated(request, request.response)
    request.override_renderer = CODES
    private(request)
    return {"codes": codes}


def _remove(request: Request) -> Any:
    own = parts(request)
    if own_password(request) is None:
        _prove_by_code(request)
    elif "currentPassword" not in request.POST:
        message = (
            "The authenticator is added already. If you have not seen its recovery codes, remove it and add it again."
        )
        raise conflict("authenticator_present", message)
    account, _ = proved(request)
    factor.remove(request.dbsession, account.id)
    recovery.notify(request.dbsession, own.writer, account.id, "factor removed", messages_of(request))
    return rotated(request, done("removed"))


def _prove_by_code(request: Request) -> None:
    """Where there is no password to ask for; it counts as a sign-in (threats C4). No row may be locked yet."""
    own, found = parts(request), visitor(request)
    most = request.registry.settings["modhub_auth.failures"]
    with own.limits.attempt([counter("sign-in caller", caller_of(request), most)]) as place:
        if not use_code(own, found.account_id, sent(request, "code")):
            place.failed = True
            raise services.second_factor_required()
