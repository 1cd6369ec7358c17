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
from modhub_auth.pages.choosing import chosen
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, refusal_said, said, sent
from modhub_auth.pages.signing import new_password
from modhub_auth.pages.words import faults
from modhub_auth.parts import parts

SIGN_IN: Final = ("/Modhub/account/login", "Sign in")
FORGOT: Final = ("/Modhub/account/forgot", "Forgot your password?")

GONE: Final = 410


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
        links=[SIGN_IN],
    )


@page(context=IAccount, name="forgot", request_method="GET", permission=OPEN, renderer=SHEET)
def forgot_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/forgot``"""
    return forgot_sheet().show(request)


@page(context=IAccount, name="forgot", request_method="POST", permission=OPEN, renderer=SHEET)
def forgot(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/forgot``: the same page whoever has an account."""
    own, most = parts(request), request.registry.settings["modhub_auth.forgot_limit"]
    email = sent(request, "email")
    wrong = faults((addresses.require, email))
    try:
        own.limits.count([counter("forgot", caller_of(request), most)])
    except Refusal as refusal:
        wrong = [refusal]
    if wrong:
        return forgot_sheet().refused(request, *wrong)
    recovery.ask_reset(request.dbsession, own.limits, addresses.require(email), messages_of(request).language)
    request.override_renderer = SAID
    lines = (
        "If there is an account with this address, a letter is on its way. The link in it works for an hour.",
        "Nothing has come? Look among the unwanted letters too, or ask once more in a quarter of an hour.",
    )
    return said(request, "Look into your mail", *lines, links=[SIGN_IN])


def reset_sheet() -> Sheet:
    """The new password."""
    return Sheet(
        "Choose a new password",
        "Set the password",
        [new_password("New password")],
        lead=["Whoever is signed in to the account now, in any browser or program, is signed out by this."],
    )


def _living(request: Request, *purposes: str) -> str:
    """The secret of the address, when its link still works; 410 when not."""
    _quiet(request)
    secret = query(request, "token") or ""
    with request.databases.reading() as session:
        if links.find(session, secret, *purposes) is None:
            raise recovery.dead_link()
    return secret


def _dead(request: Request, refusal: Refusal) -> dict[str, Any]:
    """The 410 page of a link that works no longer: where to get another one."""
    request.override_renderer = SAID
    title = "This link has lapsed" if refusal.status == GONE else "That did not work"
    return refusal_said(request, title, refusal, [FORGOT, SIGN_IN])


@page(context=IAccount, name="reset", request_method="GET", permission=OPEN, renderer=SHEET)
def reset_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/reset``"""
    try:
        _living(request, links.RESET)
    except Refusal as refusal:
        return _dead(request, refusal)
    return reset_sheet().show(request)


@page(context=IAccount, name="reset", request_method="POST", permission=OPEN, renderer=SHEET)
def reset(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/reset``"""
    own = parts(request)
    try:
        secret = _living(request, links.RESET)
        password_hash = own.passwords.hash(chosen(request))
        recovery.reset(request.dbsession, own.writer, secret, password_hash, messages_of(request))
    except Refusal as refusal:
        return _dead(request, refusal) if refusal.status == GONE else reset_sheet().refused(request, refusal)
    request.override_renderer = SAID
    return said(request, "Your password is set", "Sign in with it now.", links=[SIGN_IN])


def confirm_sheet() -> Sheet:
    """A button: a mail program that follows links must not confirm anything."""
    lead = ["With this you confirm that the address is yours."]
    return Sheet("Confirm your address", "Confirm", [], lead=lead)


@page(context=IAccount, name="confirm", request_method="GET", permission=OPEN, renderer=SHEET)
def confirm_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/confirm``"""
    try:
        _living(request, links.CONFIRM, links.ADD)
    except Refusal as refusal:
        return _dead(request, refusal)
    return confirm_sheet().show(request)


@page(context=IAccount, name="confirm", request_method="POST", permission=OPEN, renderer=SAID)
def confirm(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/confirm``: a first confirmation ends the sessions from before it (decisions 3.7)."""
    try:
        secret = _living(request, links.CONFIRM, links.ADD)
        with request.databases.reading() as session:
            adds = links.find(session, secret, links.ADD) is not None
        (platforms.add_password if adds else recovery.confirm)(request.dbsession, secret)
    except Refusal as refusal:
        return _dead(request, refusal)
    line = "You can sign in with the address and your password now."
    return said(request, "Your address is confirmed", line, links=[SIGN_IN])
