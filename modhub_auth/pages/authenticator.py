"""Adding and removing an authenticator (decisions 3.10, 9; RFC 6238).

The secret that a page proposes comes from the visitor's session and is stored nowhere before its first code has come.
"""

from typing import Any, Final

import segno
from markupsafe import Markup

from modhub.errors import Refusal
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.views import page
from modhub_auth import factor, recovery
from modhub_auth.cookies import cookie_name
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.account import current_password, locked, proved, rotated, visitor
from modhub_auth.pages.sheets import Field, Sheet, private, sent
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts
from modhub_auth.resources import AccountPermission

AUTHENTICATOR: Final = "modhub_auth:templates/account/authenticator.jinja2"
CODES: Final = "modhub_auth:templates/account/codes.jinja2"
QR_SCALE: Final = 4


def add_sheet() -> Sheet:
    """The first code."""
    return Sheet(
        "Add an authenticator",
        "Add it",
        [Field("code", "Code", complete="one-time-code", hint="The six digits that it shows now.")],
        lead=["Scan the picture with your authenticator, or type the secret into it."],
        links=[(HOME, "Your account")],
    )


def remove_sheet(request: Request) -> Sheet:
    """The password that takes the authenticator away."""
    return Sheet(
        "Remove the authenticator",
        "Remove it",
        current_password(request),
        lead=["Signing in will ask for your password alone. Your recovery codes go too."],
        links=[(HOME, "Your account")],
        danger=True,
    )


def proposal(request: Request) -> str:
    """The secret that this session proposes."""
    return parts(request).proposals.secret(request.cookies[cookie_name(request)])


def _page(request: Request, *, active: bool, refusal: Refusal | None = None) -> dict[str, Any]:
    sheet = remove_sheet(request) if active else add_sheet()
    more: dict[str, Any] = {"secret": "", "picture": ""}
    if not active:
        secret = proposal(request)
        address = factor.address_for_qr(secret, visitor(request).subject)
        drawing = segno.make(address, micro=False).svg_inline(scale=QR_SCALE, light="#fff", dark="#000")
        more = {"secret": secret, "picture": Markup(drawing)}  # noqa: S704 - segno draws it; it holds no text
    return sheet.show(request, **more) if refusal is None else sheet.refused(request, refusal, **more)


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
    """``POST /Modhub/account/authenticator``: add it by its first code, or remove it by the password."""
    active = _is_active(request)
    try:
        return _remove(request) if active else _add(request)
    except Refusal as refusal:
        return _page(request, active=active, refusal=refusal)


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
    account, _ = proved(request)
    factor.remove(request.dbsession, account.id)
    recovery.notify(request.dbsession, own.writer, account.id, "factor removed", messages_of(request))
    return rotated(request, Redirect(HOME))
