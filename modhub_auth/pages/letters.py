"""Pages to which letters lead: forgot, reset, confirm (decisions 3.7). Nobody is signed in by a link."""

from typing import Any, Final

from modhub.errors import Refusal
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_auth import addresses, links, platforms, recovery
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of, counter
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, said, sent
from modhub_auth.parts import parts
from modhub_auth.passwords import accepted

SIGN_IN: Final = (("/Modhub/account/login", "Sign in"),)


def _quiet(request: Request) -> None:
    """The address holds a secret: it is told to nobody (threats C8)."""
    request.response.headers["Referrer-Policy"] = "no-referrer"


def forgot_sheet() -> Sheet:
    """The address."""
    return Sheet(
        "Forgot your password?",
        "Send a letter",
        [Field("email", "E-mail address", "email", "username")],
        lead=["We send a link to this address by which you can choose a new password."],
        links=list(SIGN_IN),
    )


@page(context=IAccount, name="forgot", request_method="GET", permission=OPEN, renderer=SHEET)
def forgot_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/forgot``"""
    return forgot_sheet().show(request)


@page(context=IAccount, name="forgot", request_method="POST", permission=OPEN, renderer=SHEET)
def forgot(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/forgot``: the same page whoever has an account."""
    own, most = parts(request), request.registry.settings["modhub_auth.forgot_limit"]
    try:
        own.limits.count([counter("forgot", caller_of(request), most)])
    except Refusal as refusal:
        return forgot_sheet().refused(request, refusal)
    address = addresses.parse(sent(request, "email"))
    if address is not None:
        recovery.ask_reset(request.dbsession, own.writer, own.limits, address, messages_of(request))
    sheet = forgot_sheet()
    sheet.lead = ["If there is an account with this address, a letter is on its way. Its link works for an hour."]
    return sheet.show(request)


def reset_sheet() -> Sheet:
    """The new password."""
    return Sheet(
        "Choose a new password",
        "Set the password",
        [Field("password", "New password", "password", "new-password", hint="At least 10 characters.")],
        lead=["Everybody who is signed in to the account is signed out by this."],
    )


def _living(request: Request, *purposes: str) -> str:
    """The secret of the address, when its link still works; 410 when not."""
    _quiet(request)
    secret = query(request, "token") or ""
    with request.databases.reading() as session:
        if links.find(session, secret, *purposes) is None:
            raise recovery.dead_link()
    return secret


@page(context=IAccount, name="reset", request_method="GET", permission=OPEN, renderer=SHEET)
def reset_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/reset``"""
    _living(request, links.RESET)
    return reset_sheet().show(request)


@page(context=IAccount, name="reset", request_method="POST", permission=OPEN, renderer=SHEET)
def reset(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/reset``"""
    own = parts(request)
    secret = _living(request, links.RESET)
    try:
        password_hash = own.passwords.hash(accepted(sent(request, "password")))
    except Refusal as refusal:
        return reset_sheet().refused(request, refusal)
    recovery.reset(request.dbsession, own.writer, secret, password_hash, messages_of(request))
    request.override_renderer = SAID
    return said(request, "Your password is set", "Sign in with it now.", links=SIGN_IN)


def confirm_sheet() -> Sheet:
    """A button: a mail program that follows links must not confirm anything."""
    return Sheet("Confirm your address", "Confirm", [], lead=["Confirm that this is your address."])


@page(context=IAccount, name="confirm", request_method="GET", permission=OPEN, renderer=SHEET)
def confirm_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/confirm``"""
    _living(request, links.CONFIRM, links.ADD)
    return confirm_sheet().show(request)


@page(context=IAccount, name="confirm", request_method="POST", permission=OPEN, renderer=SAID)
def confirm(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/confirm``"""
    secret = _living(request, links.CONFIRM, links.ADD)
    with request.databases.reading() as session:
        adds = links.find(session, secret, links.ADD) is not None
    (platforms.add_password if adds else recovery.confirm)(request.dbsession, secret)
    return said(request, "Your address is confirmed", "Sign in now.", links=SIGN_IN)
