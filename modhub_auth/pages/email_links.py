"""A forgotten password, and the page to which its letter leads (C-MAIL-1). Nobody is signed in by a link."""

from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.errors import ApiError
from modhub.payload import query
from modhub.request import Request
from modhub.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.views import OPEN, page
from modhub_auth import email_addresses
from modhub_auth.container import auth_services
from modhub_auth.interfaces import IAccount
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, Link, Login
from modhub_auth.pages.error_messages import collect_errors, platform_title
from modhub_auth.pages.form_pages import (
    FORM_TEMPLATE,
    MESSAGE_TEMPLATE,
    Checkbox,
    FormField,
    FormPage,
    error_page,
    message_page,
    sent_value,
)
from modhub_auth.pages.sign_in import new_password_field
from modhub_auth.pages.user_agents import browser_of
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.signin import recovery
from modhub_auth.signin.passwords import validate_password
from modhub_auth.signin.recovery import AccountEntry, ResetChoice

SIGN_IN: Final = ("/Modhub/account/login", N_("Sign in"))
FORGOT: Final = ("/Modhub/account/forgot", N_("Forgot your password?"))

FIRST_RESET_NOTICE: Final = N_(
    "This address has not been confirmed yet. Everything added to its account so far is now removed: "
    "the password, any authenticator, linked logins and all sessions."
)
GONE: Final = 410


def _quiet(request: Request) -> None:
    """The address holds a secret: it is told to nobody (T-C8)."""
    request.response.headers["Referrer-Policy"] = "no-referrer"


def forgot_form() -> FormPage:
    """The address."""
    return FormPage(
        N_("Forgot your password?"),
        N_("Send reset link"),
        [FormField("email", N_("Email address"), "email", "username")],
        lead=[N_("We email you a link for choosing a new password.")],
        links=[SIGN_IN],
    )


@page(context=IAccount, name="forgot", request_method="GET", permission=OPEN, renderer=FORM_TEMPLATE)
def forgot_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/forgot``"""
    return forgot_form().show(request)


@page(context=IAccount, name="forgot", request_method="POST", permission=OPEN, renderer=FORM_TEMPLATE)
def forgot_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/forgot``: the same page whoever has an account."""
    own, most = auth_services(request), request.registry.settings["modhub_auth.forgot_limit"]
    email = sent_value(request, "email")
    wrong = collect_errors((email_addresses.require_address, email))
    try:
        own.limits.count([rate_counter("forgot", caller_of(request), most)])
    except ApiError as refusal:
        wrong = [refusal]
    if wrong:
        return forgot_form().refused(request, *wrong)
    recovery.ask_reset(
        request.dbsession, own.limits, email_addresses.require_address(email), translations_for(request).language
    )
    request.override_renderer = MESSAGE_TEMPLATE
    lines = (
        N_("If there is an account with this address, we have sent it an email. The link in it works for an hour."),
        N_("No email? Check your spam folder, or try again in fifteen minutes."),
    )
    return message_page(request, N_("Check your email"), *lines, links=[SIGN_IN])


def valid_link(request: Request, *purposes: str) -> Link:
    """The living link that the address names; 410 for a dead one. Its row is read, not held."""
    _quiet(request)
    with request.databases.readonly_session() as session:
        found = link_tokens.find_link(session, link_secret(request), *purposes)
    if found is None:
        raise recovery.dead_link()
    return found


def link_secret(request: Request) -> str:
    """The secret in the address of the page."""
    return query(request, "token") or ""


def dead_link_page(request: Request, refusal: ApiError) -> dict[str, Any]:
    """The 410 page of a link that works no longer: where to get another one."""
    request.override_renderer = MESSAGE_TEMPLATE
    title = "This link has expired" if refusal.status == GONE else "Something is wrong with this request"
    return error_page(request, title, refusal, [FORGOT, SIGN_IN])


def own_words(session: Session, login: Login) -> tuple[str, str]:
    """The name and the address of the account, which make poor passwords."""
    return session.get_one(Account, login.account_id).display_name, login.subject


def reset_form(request: Request, link: Link) -> FormPage:
    """The new password; and what has been added to the account, to be looked over."""
    with request.databases.readonly_session() as session:
        login = session.get(Login, link.login_id)
        if login is None:
            raise recovery.dead_link()
        told = own_words(session, login)
        held = recovery.account_entries(session, login) if login.verified else []
        first = not login.verified
    sheet = FormPage(
        N_("Choose a new password"),
        N_("Set password"),
        [new_password_field(request, N_("New password"), *told)],
        lead=[N_("This signs out every browser and program that is signed in to the account.")],
    )
    if first:
        sheet.lead.append(FIRST_RESET_NOTICE)
    elif held:
        sheet.legend = N_("These belong to your account too. Untick what is not yours.")
        sheet.hidden["shown"] = " ".join(one.key for one in held)
        sheet.ticks = [Checkbox("keep", one.key, _held_label(request, one)) for one in held]
    else:
        sheet.hidden["shown"] = ""
    return sheet


def _held_label(request: Request, held: AccountEntry) -> str:
    if held.key == recovery.AUTHENTICATOR:
        return translations_for(request).gettext("Authenticator")
    return f"{held.subject} ({platform_title(request, held.platform)})"


def _choice(request: Request) -> ResetChoice | None:
    """What was unticked; None for a form that has shown nothing, so that everything stays."""
    if "shown" not in request.POST:
        return None
    return ResetChoice(
        frozenset(sent_value(request, "shown").split()), frozenset(map(str, request.POST.getall("keep")))
    )


@page(context=IAccount, name="reset", request_method=("GET", "POST"), permission=OPEN, renderer=FORM_TEMPLATE)
def reset_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/reset``"""
    try:
        sheet = reset_form(request, valid_link(request, link_tokens.RESET_LINK))
    except ApiError as refusal:
        return dead_link_page(request, refusal)
    return sheet.show(request) if request.is_safe else complete_reset(request, sheet, link_tokens.RESET_LINK)


def complete_reset(request: Request, sheet: FormPage, purpose: str) -> dict[str, Any]:
    """The end of a reset, by either link."""
    wrong = sheet.faults(request)
    if wrong:
        return sheet.refused(request, *wrong)
    own, messages = auth_services(request), translations_for(request)
    try:
        password_hash = own.passwords.hash(validate_password(sent_value(request, "password")))
        recovery.reset_password(
            request.dbsession,
            own.writer,
            link_secret(request),
            password_hash,
            messages,
            purpose=purpose,
            choice=_choice(request),
            client=browser_of(request),
        )
    except ApiError as refusal:
        if refusal.status == GONE:
            return dead_link_page(request, refusal)
        if refusal.code == "changed_meanwhile":
            sheet = reset_form(request, valid_link(request, purpose))
        return sheet.refused(request, refusal)
    request.override_renderer = MESSAGE_TEMPLATE
    return message_page(request, N_("Your password has been set"), N_("You can sign in with it now."), links=[SIGN_IN])
