"""A forgotten password, and the page to which its letter leads (decisions 3.7). Nobody is signed in by a link."""

from typing import Any, Final

from modhub.errors import Refusal
from modhub.pages.tools import messages_of
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_auth import addresses, links, recovery
from modhub_auth.interfaces import IAccount
from modhub_auth.limits import caller_of, counter
from modhub_auth.models import Link, Login
from modhub_auth.pages.agents import browser_of
from modhub_auth.pages.sheets import SAID, SHEET, Field, Sheet, Tick, refusal_said, said, sent
from modhub_auth.pages.signing import new_password
from modhub_auth.pages.words import faults, title_of
from modhub_auth.parts import parts
from modhub_auth.passwords import accepted
from modhub_auth.recovery import Choice, Held

SIGN_IN: Final = ("/Modhub/account/login", "Sign in")
FORGOT: Final = ("/Modhub/account/forgot", "Forgot your password?")

FIRST: Final = (
    "This address has not been confirmed yet. Whatever was added to its account before goes now: the password, an "
    "authenticator, linked logins and all who are signed in."
)
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


def living(request: Request, *purposes: str) -> Link:
    """The living link that the address names; 410 for a dead one. Its row is read, not held."""
    _quiet(request)
    with request.databases.reading() as session:
        found = links.find(session, secret_of(request), *purposes)
    if found is None:
        raise recovery.dead_link()
    return found


def secret_of(request: Request) -> str:
    """The secret in the address of the page."""
    return query(request, "token") or ""


def dead(request: Request, refusal: Refusal) -> dict[str, Any]:
    """The 410 page of a link that works no longer: where to get another one."""
    request.override_renderer = SAID
    title = "This link has lapsed" if refusal.status == GONE else "That did not work"
    return refusal_said(request, title, refusal, [FORGOT, SIGN_IN])


def reset_sheet(request: Request, link: Link) -> Sheet:
    """The new password; and what has been added to the account, to be looked over."""
    with request.databases.reading() as session:
        login = session.get(Login, link.login_id)
        if login is None:
            raise recovery.dead_link()
        held = recovery.held(session, login) if login.verified else []
        first = not login.verified
    sheet = Sheet(
        "Choose a new password",
        "Set the password",
        [new_password(request, "New password")],
        lead=["Whoever is signed in to the account now, in any browser or program, is signed out by this."],
    )
    if first:
        sheet.lead.append(FIRST)
    elif held:
        sheet.legend = "This belongs to your account too. Untick what is not yours."
        sheet.hidden["shown"] = " ".join(one.key for one in held)
        sheet.ticks = [Tick("keep", one.key, _held_label(request, one)) for one in held]
    else:
        sheet.hidden["shown"] = ""
    return sheet


def _held_label(request: Request, held: Held) -> str:
    if held.key == recovery.AUTHENTICATOR:
        return messages_of(request).gettext("Authenticator")
    return f"{held.subject} ({title_of(request, held.platform)})"


def _choice(request: Request) -> Choice | None:
    """What was unticked; None for a form that has shown nothing, so that everything stays."""
    if "shown" not in request.POST:
        return None
    return Choice(frozenset(sent(request, "shown").split()), frozenset(map(str, request.POST.getall("keep"))))


@page(context=IAccount, name="reset", request_method=("GET", "POST"), permission=OPEN, renderer=SHEET)
def reset(_context: Any, request: Request) -> Any:
    """``/Modhub/account/reset``"""
    try:
        sheet = reset_sheet(request, living(request, links.RESET))
    except Refusal as refusal:
        return dead(request, refusal)
    return sheet.show(request) if request.is_safe else set_password(request, sheet, links.RESET)


def set_password(request: Request, sheet: Sheet, purpose: str) -> dict[str, Any]:
    """The end of a reset, by either link."""
    wrong = sheet.faults(request)
    if wrong:
        return sheet.refused(request, *wrong)
    own, messages = parts(request), messages_of(request)
    try:
        password_hash = own.passwords.hash(accepted(sent(request, "password")))
        recovery.reset(
            request.dbsession,
            own.writer,
            secret_of(request),
            password_hash,
            messages,
            purpose=purpose,
            choice=_choice(request),
            client=browser_of(request),
        )
    except Refusal as refusal:
        if refusal.status == GONE:
            return dead(request, refusal)
        if refusal.code == "changed_meanwhile":
            sheet = reset_sheet(request, living(request, purpose))
        return sheet.refused(request, refusal)
    request.override_renderer = SAID
    return said(request, "Your password is set", "Sign in with it now.", links=[SIGN_IN])
