"""Changing the password, and adding one to an account that has none (decisions 3.10)."""

from functools import partial
from typing import Any

from modhub.errors import Refusal
from modhub.pages.answers import Redirect
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.views import page
from modhub_auth import addresses, platforms, recovery
from modhub_auth.interfaces import IAccount
from modhub_auth.joining import Prepared
from modhub_auth.journal import note
from modhub_auth.limits import caller_of, counter
from modhub_auth.pages.account import current_password, done, locked, own_password, proved, rotated, visitor
from modhub_auth.pages.choosing import chosen
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, said, sent
from modhub_auth.pages.signing import HOME, new_password
from modhub_auth.pages.words import faults
from modhub_auth.parts import parts
from modhub_auth.passwords import accepted
from modhub_auth.resources import AccountPermission


def password_sheet(request: Request) -> Sheet:
    """The old and the new password."""
    known = own_password(request)
    return Sheet(
        "Change your password",
        "Change it",
        [*current_password(request), new_password("New password")],
        username="" if known is None else known.subject,
        lead=["You stay signed in, here and elsewhere."],
        links=[(HOME, "Your account"), (f"{HOME}/forgot", "Forgot your password?")],
    )


def new_password_sheet() -> Sheet:
    """The address and the password for an account that has neither."""
    return Sheet(
        "Add a password",
        "Send a letter",
        [Field("email", "E-mail address", "email", "username"), new_password("Password")],
        lead=["The password works once you have followed the link in the letter that we send to this address."],
        links=[(HOME, "Your account")],
    )


def ask_password(request: Request) -> dict[str, Any]:
    """The same page whether the address is taken or not: that is told by letter (decisions 3.10)."""
    own, sheet = parts(request), new_password_sheet()
    email, password = sent(request, "email"), sent(request, "password")
    wrong = faults((addresses.require, email), (partial(chosen, request, visitor(request).display_name), email))
    if wrong:
        return sheet.refused(request, *wrong)
    address = addresses.require(email)
    most = request.registry.settings["modhub_auth.forgot_limit"]
    try:
        own.limits.count([counter("forgot", caller_of(request), most)])
        prepared = Prepared(address, own.passwords.hash(accepted(password)))
    except Refusal as refusal:
        return sheet.refused(request, refusal)
    account = locked(request)
    platforms.ask_password(request.dbsession, own, account.id, prepared, messages_of(request))
    request.override_renderer = SAID
    lines = "A letter is on its way to this address.", "The password works once you have followed the link in it."
    return said(request, "Look into your mail", *lines, links=[(HOME, "Your account")])


@page(context=IAccount, name="password", request_method="GET", permission=AccountPermission.CHANGE, renderer=SHEET)
def password_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/password``"""
    return (new_password_sheet() if own_password(request) is None else password_sheet(request)).show(request)


@page(context=IAccount, name="password", request_method="POST", permission=AccountPermission.CHANGE, renderer=SHEET)
def change_password(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/password``: the session gets another secret; who is signed in elsewhere stays."""
    own, found, known = parts(request), visitor(request), own_password(request)
    if known is None:
        return ask_password(request)
    try:
        password_hash = own.passwords.hash(chosen(request, found.display_name, known.subject))
        _, login = proved(request)
    except Refusal as refusal:
        return password_sheet(request).refused(request, refusal)
    if login is None:
        return Redirect(f"{HOME}/password")
    recovery.set_password(request.dbsession, login, password_hash)
    recovery.notify(request.dbsession, own.writer, found.account_id, "password changed", messages_of(request))
    note("password changed", account=found.account_id, login=login.id)
    return rotated(request, done("password"))
