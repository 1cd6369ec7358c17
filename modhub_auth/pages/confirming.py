"""The page to which a letter leads that confirms an address (decisions 3.7). Opening it changes nothing.

Whoever has the letter alone may be a stranger to the account: the address was typed by somebody else then. So the page
wants the account as well, by a session of it in this browser or by its password; else it offers a new password, which
takes away all that was there before.
"""

from typing import Any, Final
from urllib.parse import quote

from modhub.errors import Refusal
from modhub.identity import NOBODY, Credential
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_auth import links, platforms, recovery
from modhub_auth.cookies import LOGIN
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of
from modhub_auth.models import Account, Link, Login
from modhub_auth.pages.letters import FIRST, GONE, SIGN_IN, dead, living, secret_of, set_password
from modhub_auth.pages.proof import locked, tell, visitor
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, said, sent
from modhub_auth.pages.signing import HOME, new_password
from modhub_auth.parts import parts
from modhub_auth.signing import prove, wrong_password
from modhub_auth.texts import NAMED

HERE: Final = f"{HOME}/confirm"
CONFIRMED: Final = "Your address is confirmed"


def _is_own(request: Request, link: Link) -> bool:
    """Whether this browser is signed in to the account of the link."""
    return request.identify(Credential.ACCOUNT) is not NOBODY and visitor(request).account_id == link.account_id


def _named(request: Request, link: Link) -> str:
    with request.databases.reading() as session:
        account = session.get_one(Account, link.account_id)
        return messages_of(request).gettext(NAMED, name=account.display_name)


def _is_confirmed(request: Request, link: Link) -> bool:
    with request.databases.reading() as session:
        login = session.get(Login, link.login_id)
        return login is not None and login.verified


def own_sheet(lead: str = "With this you confirm that the address is yours.") -> Sheet:
    """A button, for somebody who is signed in to the account."""
    return Sheet("Confirm your address", "Confirm", [], lead=[lead])


def password_sheet(request: Request, link: Link) -> Sheet:
    """The password of the account; and the way on for whoever does not know it."""
    anew = f"{HERE}?token={quote(secret_of(request))}&new=1"
    return Sheet(
        "Confirm your address",
        "Confirm",
        [Field("password", "Password of this account", "password", "current-password")],
        lead=[_named(request, link), "You are not signed in to it in this browser, so give its password."],
        links=[(anew, "I did not make this account, or do not know its password")],
    )


def first_sheet(request: Request, link: Link) -> Sheet:
    """A new password instead of one that somebody else has chosen. 410 once the address is confirmed."""
    if _is_confirmed(request, link):
        raise recovery.dead_link()
    lead = [_named(request, link), FIRST]
    return Sheet("Choose a new password", "Set the password", [new_password(request, "New password")], lead=lead)


@page(context=IAccount, name="confirm", request_method=("GET", "POST"), permission=OPEN, renderer=SHEET)
def confirm(_context: Any, request: Request) -> Any:
    """``/Modhub/account/confirm``; with ``new`` in the query: by a new password."""
    try:
        link = living(request, links.CONFIRM, links.ADD)
        if link.purpose == links.ADD:
            return _add(request, link)
        if _is_own(request, link):
            return own_sheet().show(request) if request.is_safe else _confirm_own(request)
        if query(request, "new") is not None:
            sheet = first_sheet(request, link)
            return sheet.show(request) if request.is_safe else set_password(request, sheet, links.CONFIRM)
        sheet = password_sheet(request, link)
        return sheet.show(request) if request.is_safe else _confirm_by_password(request, link, sheet)
    except Refusal as refusal:
        return dead(request, refusal)


def _confirm_own(request: Request) -> dict[str, Any]:
    recovery.confirm(request.dbsession, secret_of(request), session_id=visitor(request).session_id)
    request.override_renderer = SAID
    return said(request, CONFIRMED, "You stay signed in.", links=[(HOME, "Your account")])


def _confirm_by_password(request: Request, link: Link, sheet: Sheet) -> dict[str, Any]:
    own, settings, password = parts(request), request.registry.settings, sent(request, "password")
    try:
        checked = prove(own, settings, link.account_id, password, caller_of(request))
        if checked is None:
            raise wrong_password()
        recovery.confirm(request.dbsession, secret_of(request), password_hash=checked.password_hash)
    except Refusal as refusal:
        if refusal.status == GONE:
            raise
        return sheet.refused(request, refusal)
    request.override_renderer = SAID
    line = "You can sign in with the address and your password now."
    return said(request, CONFIRMED, line, links=[SIGN_IN])


def _add(request: Request, link: Link) -> dict[str, Any]:
    """The password that an account without one has asked for: in a session of that account alone."""
    if not _is_own(request, link):
        request.override_renderer = SAID
        back = quote(f"{HERE}?token={secret_of(request)}", safe="/")
        lines = (
            _named(request, link),
            "Sign in to it in this browser to go on. If it is not yours, do nothing: nothing happens then.",
        )
        return said(request, "Sign in first", *lines, links=[(f"{LOGIN}?next={back}", "Sign in")], status=403)
    if request.is_safe:
        return own_sheet("With this you confirm that the address is yours and that you want to sign in with it.").show(
            request
        )
    platforms.add_password(request.dbsession, secret_of(request), locked(request))
    tell(request, "password added")
    request.override_renderer = SAID
    line = "You can sign in with the address and your password now."
    return said(request, CONFIRMED, line, links=[(HOME, "Your account")])
