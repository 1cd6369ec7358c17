"""Changing the password, and adding one to an account that has none (decisions 3.10)."""

from typing import Any

from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.views import page
from modhub_auth import addresses, platforms, recovery
from modhub_auth.finding import Secretive
from modhub_auth.interfaces import IAccount
from modhub_auth.joining import Prepared
from modhub_auth.journal import note
from modhub_auth.limits import caller_of, counter
from modhub_auth.pages.account import done
from modhub_auth.pages.proof import proved, rotated, tell, visitor
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, said, sent
from modhub_auth.pages.signing import HOME, new_password
from modhub_auth.parts import parts
from modhub_auth.passwords import accepted
from modhub_auth.resources import AccountPermission


def own_password(request: Request) -> Secretive | None:
    """The visitor's login by password; None where the account has none."""
    return parts(request).finder.password_of(visitor(request).account_id)


def password_sheet(_context: Any, request: Request) -> Sheet:
    """The new password; with its address, where the account has neither yet."""
    known = own_password(request)
    if known is None:
        return Sheet(
            "Add a password",
            "Send a letter",
            [
                Field("email", "E-mail address", "email", "username", check=addresses.require),
                new_password(request, "Password", visitor(request).display_name),
            ],
            lead=["The password works once you have followed the link in the letter that we send to this address."],
            links=[(HOME, "Your account")],
        )
    return Sheet(
        "Change your password",
        "Change it",
        [new_password(request, "New password", visitor(request).display_name, known.subject)],
        username=known.subject,
        lead=["You stay signed in, here and elsewhere."],
        links=[(HOME, "Your account"), (f"{HOME}/forgot", "Forgot your password?")],
    )


@page(
    context=IAccount,
    name="password",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=SHEET,
    fresh_proof=password_sheet,
)
def change_password(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/password``: the session gets another secret; who is signed in elsewhere stays."""
    if own_password(request) is None:
        return _ask_password(request)
    own, found = parts(request), visitor(request)
    chosen = own.passwords.hash(accepted(sent(request, "password")))
    _, login = proved(request)
    assert login is not None, "who has a password proves by it"
    recovery.set_password(request.dbsession, login, chosen)
    tell(request, "password changed")
    note("password changed", account=found.account_id, login=login.id)
    return rotated(request, done("password"))


def _ask_password(request: Request) -> dict[str, Any]:
    """The same page whether the address is taken or not: that is told by letter (decisions 3.10)."""
    own, address = parts(request), addresses.require(sent(request, "email"))
    own.limits.count([counter("forgot", caller_of(request), request.registry.settings["modhub_auth.forgot_limit"])])
    prepared = Prepared(address, own.passwords.hash(accepted(sent(request, "password"))))
    account, _ = proved(request)
    platforms.ask_password(request.dbsession, own, account, prepared, messages_of(request))
    request.override_renderer = SAID
    lines = (
        "We have sent an email to this address.",
        "The password works once you have followed the link in it, in this browser.",
    )
    return said(request, "Look into your mail", *lines, links=[(HOME, "Your account")])
