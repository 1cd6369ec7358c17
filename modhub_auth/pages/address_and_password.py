"""Address and password of an account: a reset by an emailed link, changing and adding both (C-MAIL-1, C-ACC-22).

No link signs anybody in.
"""

from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.content.text import N_
from modhub.plugins.resources import IWellKnown
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_auth import email_addresses
from modhub_auth.container import auth_services
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, Link, Login
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import (
    HOME,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    error_page,
    form_value,
    message_page,
    open_form_page,
    platform_title,
)
from modhub_auth.pages.fresh_proof import (
    current_login,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.pages.sign_in import email_field, new_password_field
from modhub_auth.rate_limits import rate_counter
from modhub_auth.services import PasswordLogin
from modhub_auth.signin import recovery
from modhub_auth.signin.passwords import validate_password
from modhub_auth.signin.recovery import AccountAccess, ResetChoice
from modhub_auth.signin.registration import count_forgot, request_address_change, request_password, request_reset
from modhub_auth.signin.session_cookies import browser_name

SIGN_IN: Final = ("/Modhub/account/login", N_("Sign in"))
FORGOT: Final = ("/Modhub/account/forgot", N_("Forgot your password?"))

FIRST_RESET_NOTICE: Final = N_(
    "This email address has not been confirmed yet. Everything added to its account so far is now removed: "
    "the password, any authenticator, linked sign-in methods and all sessions."
)
DEAD_LINK_STATUS: Final = 410


def _forbid_referrer(request: Request) -> None:
    """The page's address holds a secret, so it is never sent as ``Referer`` (T-C8)."""
    request.response.headers["Referrer-Policy"] = "no-referrer"


def forgot_form() -> FormPage:
    """The form that asks for the email address."""
    return FormPage(
        N_("Forgot your password?"),
        N_("Send reset link"),
        [email_field()],
        lead=[N_("We email you a link for choosing a new password.")],
        links=[SIGN_IN],
    )


@open_form_page("forgot")
def forgot_page(_context: Any, request: Request) -> dict[str, Any]:
    """``/Modhub/account/forgot``: the same page whether or not the account exists."""
    form = forgot_form()
    if request.is_safe:
        return form.show(request)
    errors = form.input_errors(request)
    try:
        count_forgot(request)
    except ApiError as error:
        errors = [error]
    if errors:
        return form.show_errors(request, *errors)
    request_reset(request, email_addresses.require_address(form_value(request, "email")))
    lines = (
        N_(
            "If there is an account with this email address, we have sent it an email. "
            "The link in it works for an hour."
        ),
        N_("No email? Check your spam folder, or try again in 15 minutes."),
    )
    return message_page(request, "check_email", N_("Check your email"), *lines, links=[SIGN_IN])


def valid_link(request: Request, *purposes: str) -> Link:
    """The valid link in the page's address; 410 for an invalid one. Its row is not locked."""
    _forbid_referrer(request)
    with request.databases.readonly_session() as session:
        link = link_tokens.find_link(session, link_secret(request), *purposes)
    if link is None:
        raise recovery.dead_link()
    return link


def link_secret(request: Request) -> str:
    """The secret in the page's address."""
    return query(request, "token") or ""


def dead_link_page(request: Request, error: ApiError) -> dict[str, Any]:
    """The 410 page of an invalid link, with links to ask for another one."""
    title = "This link has expired" if error.status == DEAD_LINK_STATUS else "Something is wrong with this request"
    return error_page(request, title, error, [FORGOT, SIGN_IN])


def account_names(session: Session, login: Login) -> tuple[str, str]:
    """The name and address of the account, which make weak passwords."""
    return session.get_one(Account, login.account_id).display_name, login.subject


def reset_form(request: Request, link: Link) -> FormPage:
    """The form for the new password, with the account's other access to review."""
    with request.databases.readonly_session() as session:
        login = session.get(Login, link.login_id)
        if login is None:
            raise recovery.dead_link()
        names = account_names(session, login)
        other_access = recovery.other_access(session, login) if login.verified else []
        unconfirmed = not login.verified
    form = FormPage(
        N_("Choose a new password"),
        N_("Set password"),
        [new_password_field(request, N_("New password"), *names)],
        lead=[N_("This signs out every browser and program that is signed in to the account.")],
    )
    if unconfirmed:
        form.lead.append(FIRST_RESET_NOTICE)
    elif other_access:
        form.legend = N_("These belong to your account too. Untick what is not yours.")
        form.hidden["shown"] = " ".join(access.key for access in other_access)
        choice = _reset_choice(request)
        unticked = frozenset[str]() if choice is None else choice.listed - choice.keep
        form.checkboxes = [
            (access.key, _access_label(request, access), access.key not in unticked) for access in other_access
        ]
    else:
        form.hidden["shown"] = ""
    return form


def _access_label(request: Request, access: AccountAccess) -> str:
    if access.key == recovery.AUTHENTICATOR:
        return translations_for(request).gettext("Authenticator")
    return f"{access.subject} ({platform_title(request, access.platform)})"


def _reset_choice(request: Request) -> ResetChoice | None:
    """The boxes listed and ticked; None for a form without that list, so that everything stays."""
    if "shown" not in request.POST:
        return None
    return ResetChoice(
        frozenset(form_value(request, "shown").split()), frozenset(map(str, request.POST.getall("keep")))
    )


@open_form_page("reset")
def reset_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/reset``"""
    try:
        form = reset_form(request, valid_link(request, link_tokens.RESET_LINK))
    except ApiError as error:
        return dead_link_page(request, error)
    return form.show(request) if request.is_safe else complete_reset(request, form, link_tokens.RESET_LINK)


def complete_reset(request: Request, form: FormPage, purpose: str) -> dict[str, Any]:
    """Set the new password, by a link of either ``purpose``."""
    errors = form.input_errors(request)
    if errors:
        return form.show_errors(request, *errors)
    auth, messages = auth_services(request), translations_for(request)
    try:
        password_hash = auth.passwords.hash(validate_password(form_value(request, "password")))
        account_id = recovery.reset_password(
            request.dbsession,
            auth.outbox,
            link_secret(request),
            password_hash,
            messages,
            purpose=purpose,
            choice=_reset_choice(request),
            client=browser_name(request),
        )
    except ApiError as error:
        if error.status == DEAD_LINK_STATUS:
            return dead_link_page(request, error)
        if error.code == "changed_meanwhile":
            form = reset_form(request, valid_link(request, purpose))
        return form.show_errors(request, error)
    if request.identify(CredentialKind.ACCOUNT).account_id == account_id:
        request.forget_account()
    lines = [N_("You can sign in with it now.")]
    return message_page(request, "password_set", N_("Your password was set"), *lines, links=[SIGN_IN])


def email_form(_context: Any, request: Request) -> FormPage:
    """The form for the new address; without a password login only a link to the form that adds one."""
    password_login = own_password(request)
    if password_login is None:
        lead = [N_("This account has no email address yet. Add a password first.")]
        links = [(f"{HOME}/password", "Add a password"), YOUR_ACCOUNT]
        return FormPage(N_("Change your email address"), "", [], lead=lead, links=links)
    messages = translations_for(request)
    return FormPage(
        N_("Change your email address"),
        N_("Send confirmation link"),
        [
            FormField("email", N_("New email address"), "email", "email", check=email_addresses.require_address),
        ],
        lead=[
            messages.gettext(N_("Your email address is %(address)s."), address=password_login.subject),
            N_("We email a link to the new address. Until you have followed it, you sign in with the old one."),
        ],
        username=password_login.subject,
        links=[YOUR_ACCOUNT],
    )


@proven_page(email_form, name="email")
def email_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/email``: the same page whether or not the new address is taken (T-C5)."""
    limit = request.registry.settings["modhub_auth.forgot_limit"]
    address = email_addresses.require_address(form_value(request, "email"))
    count_forgot(request, rate_counter("address change", str(current_login(request).account_id), limit))
    account, _ = proven_account(request)
    request_address_change(request, account, address)
    lines = (
        N_("We have sent an email to the new address. The link in it works for an hour."),
        N_("Until you have followed it, you sign in with the old address."),
    )
    return message_page(request, "check_email", N_("Check your email"), *lines)


@page(context=IWellKnown, name="change-password", request_method="GET", permission=OPEN)
def lead_to_password(_context: Any, _request: Request) -> Redirect:
    """Where password managers look for the page (W3C, “A Well-Known URL for Changing Passwords”)."""
    return Redirect(f"{HOME}/password")


def own_password(request: Request) -> PasswordLogin | None:
    """The visitor's password login, or None."""
    return auth_services(request).account_reader.password_login(current_login(request).account_id)


def password_form(_context: Any, request: Request) -> FormPage:
    """The form for the new password, and for the address if the account has no password login yet."""
    password_login = own_password(request)
    if password_login is None:
        return FormPage(
            "Add a password",
            N_("Send reset link"),
            [
                email_field(),
                new_password_field(request, N_("Password"), current_login(request).display_name),
            ],
            lead=[N_("The password works once you have followed the link in the email that we send to this address.")],
            links=[YOUR_ACCOUNT],
        )
    return FormPage(
        "Change your password",
        N_("Change password"),
        [new_password_field(request, N_("New password"), current_login(request).display_name, password_login.subject)],
        username=password_login.subject,
        lead=[N_("You stay signed in, here and elsewhere.")],
        links=[YOUR_ACCOUNT, FORGOT],
    )


@proven_page(password_form, name="password")
def password_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/password``: this session gets a new secret; other sessions stay signed in."""
    if own_password(request) is None:
        return _ask_password(request)
    auth, login_record = auth_services(request), current_login(request)
    password_hash = auth.passwords.hash(validate_password(form_value(request, "password")))
    _, login = proven_account(request)
    assert login is not None, "an account with a password proves by it"
    recovery.set_password(request.dbsession, login, password_hash)
    send_security_email(request, "password changed")
    record(request.dbsession, "password changed", "account", login_record.account_id, login=login.id)
    return rotate_session(request, account_done("password"))


def _ask_password(request: Request) -> dict[str, Any]:
    """The same page whether or not the address is taken: the email says that (C-PAGE-4)."""
    auth, address = auth_services(request), email_addresses.require_address(form_value(request, "email"))
    count_forgot(request)
    password_hash = auth.passwords.hash(validate_password(form_value(request, "password")))
    account, _ = proven_account(request)
    request_password(request, account, address, password_hash)
    lines = (
        N_("We have sent an email to the address that you entered."),
        N_("The password works once you have followed the link in that email in this browser."),
    )
    return message_page(request, "check_email", N_("Check your email"), *lines)
