"""The page that confirms an address, opened by the link in an email (C-MAIL-4). Opening it changes nothing.

A stranger may have registered the reader's address. So the link alone is not enough: the visitor must also be signed in
to the account in this browser or give its password. Otherwise the page offers to set a new password, which removes all
earlier access to the account.
"""

from typing import Any, Final
from urllib.parse import quote

from modhub.base.errors import ApiError
from modhub.base.identity import NOBODY, CredentialKind
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.web.payload import query
from modhub.web.request import Request
from modhub_auth.mail import link_tokens
from modhub_auth.mail.texts import ASKED_BY
from modhub_auth.models import Account, Link, Login, LoginKind
from modhub_auth.pages.account import account_done
from modhub_auth.pages.address_and_password import (
    DEAD_LINK_STATUS,
    FIRST_RESET_NOTICE,
    SIGN_IN,
    account_names,
    complete_reset,
    dead_link_page,
    link_secret,
    valid_link,
)
from modhub_auth.pages.form_pages import (
    HOME,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    form_value,
    message_page,
    open_form_page,
)
from modhub_auth.pages.fresh_proof import current_login, locked_account, send_security_email
from modhub_auth.pages.sign_in import new_password_field
from modhub_auth.signin import recovery
from modhub_auth.signin.authentication import reauthenticate, wrong_password
from modhub_auth.signin.registration import add_password, change_address
from modhub_auth.signin.session_cookies import LOGIN_PATH

CONFIRM_PATH: Final = f"{HOME}/confirm"
PURPOSES: Final = (link_tokens.CONFIRM_LINK, link_tokens.ADD_PASSWORD_LINK, link_tokens.CHANGE_ADDRESS_LINK)
CONFIRMED: Final = N_("Your email address was confirmed")
CHANGED: Final = N_("Your email address was changed")
SIGN_IN_WITH_IT: Final = N_("Confirm that this email address is yours and that you want to sign in with it.")
NOW_SIGNS_IN: Final = N_("You can now sign in with this email address and your password.")


def _is_signed_in(request: Request, link: Link) -> bool:
    """Whether this browser is signed in to the link's account."""
    return (
        request.identify(CredentialKind.ACCOUNT) is not NOBODY and current_login(request).account_id == link.account_id
    )


def _account_line(request: Request, link: Link) -> str:
    with request.databases.readonly_session() as session:
        account = session.get_one(Account, link.account_id)
        return translations_for(request).gettext(ASKED_BY, name=account.display_name)


def _ask_for_password(request: Request, link: Link, form: FormPage) -> None:
    """Ask for the account's password unless this browser is signed in to it."""
    if not _is_signed_in(request, link):
        form.lead.append(N_("You are not signed in to this account in this browser, so enter its password."))
        form.fields.append(FormField("password", N_("Password of this account"), "password", "current-password"))


def confirm_form(request: Request, link: Link) -> FormPage:
    """The form that confirms the address: only a button, or the password, with a link to reset an unknown one."""
    form = FormPage(N_("Confirm your email address"), N_("Confirm"), [])
    if _is_signed_in(request, link):
        form.lead.append(N_("Confirm that this email address is yours."))
        return form
    form.lead.append(_account_line(request, link))
    _ask_for_password(request, link, form)
    reset_url = f"{CONFIRM_PATH}?token={quote(link_secret(request))}&new=1"
    form.links.append((reset_url, N_("I did not create this account, or I don't know its password")))
    return form


def change_address_form(request: Request, link: Link) -> FormPage:
    """The form that changes the address: a button, and the password unless this browser is signed in to the account.

    The link alone is not enough: it may have been sent to a mistyped address.
    """
    form = FormPage(N_("Confirm your new email address"), N_("Confirm"), [])
    form.lead += [_account_line(request, link), SIGN_IN_WITH_IT]
    _ask_for_password(request, link, form)
    return form


def first_reset_form(request: Request, link: Link) -> FormPage:
    """The form to replace a password that a stranger may have chosen. 410 once the address is confirmed."""
    with request.databases.readonly_session() as session:
        login = session.get(Login, link.login_id)
        if login is None or login.verified:
            raise recovery.dead_link()
        names = account_names(session, login)
    lead = [_account_line(request, link), FIRST_RESET_NOTICE]
    field = new_password_field(request, N_("New password"), *names)
    return FormPage(N_("Choose a new password"), N_("Set password"), [field], lead=lead)


@open_form_page("confirm")
def confirm_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/confirm``; with ``new`` in the query, by setting a new password."""
    try:
        link = valid_link(request, *PURPOSES)
        if link.purpose == link_tokens.ADD_PASSWORD_LINK:
            return _add_password(request, link)
        if link.purpose == link_tokens.CHANGE_ADDRESS_LINK:
            form = change_address_form(request, link)
        elif query(request, "new") is not None and not _is_signed_in(request, link):
            form = first_reset_form(request, link)
            return form.show(request) if request.is_safe else complete_reset(request, form, link_tokens.CONFIRM_LINK)
        else:
            form = confirm_form(request, link)
        return form.show(request) if request.is_safe else _confirm(request, link, form)
    except ApiError as error:
        return _dead_link_page(request, error)


def _dead_link_page(request: Request, error: ApiError) -> dict[str, Any]:
    """The 410 page. Who is signed in learns whether anything is left to confirm: most follow a link a second time."""
    shown = dead_link_page(request, error)
    if error.status != DEAD_LINK_STATUS or request.identify(CredentialKind.ACCOUNT) is NOBODY:
        return shown
    login = current_login(request)
    if login.verified and login.login_kind == LoginKind.PASSWORD:
        sentence = N_(
            "This link has already been used or has expired. "
            "The email address of your account, %(address)s, is confirmed."
        )
        shown["lines"] = (translations_for(request).gettext(sentence, address=login.subject),)
    return {**shown, "links": [(HOME, N_("Your account"))]}


def _confirm(request: Request, link: Link, form: FormPage) -> Any:
    """Confirm or change the address, for who is signed in to the account in this browser, or knows its password."""
    session_id, password_hash = None, None
    changes = link.purpose == link_tokens.CHANGE_ADDRESS_LINK
    try:
        if _is_signed_in(request, link):
            session_id = current_login(request).session_id
        else:
            checked_login = reauthenticate(request, link.account_id, form_value(request, "password"))
            if checked_login is None:
                raise wrong_password()
            password_hash = checked_login.password_hash
        if changes:
            change_address(request, link_secret(request), session_id=session_id, password_hash=password_hash)
        else:
            recovery.confirm_address(
                request.dbsession, link_secret(request), session_id=session_id, password_hash=password_hash
            )
    except ApiError as error:
        if error.status in {DEAD_LINK_STATUS, 409}:
            raise
        return form.show_errors(request, error)
    if changes and session_id is not None:
        return account_done("email")
    if changes:
        return message_page(request, "address_changed", CHANGED, NOW_SIGNS_IN, links=[SIGN_IN])
    line, link_on = (NOW_SIGNS_IN, SIGN_IN) if session_id is None else (N_("You stay signed in."), YOUR_ACCOUNT)
    return message_page(request, "address_confirmed", CONFIRMED, line, links=[link_on])


def _add_password(request: Request, link: Link) -> dict[str, Any]:
    """Add the password that an account without one has asked for. Only a session of that account may."""
    if not _is_signed_in(request, link):
        next_path = quote(f"{CONFIRM_PATH}?token={link_secret(request)}", safe="/")
        lines = (
            _account_line(request, link),
            N_("Sign in to it in this browser to continue. If it is not yours, do nothing."),
        )
        return message_page(
            request,
            "sign_in_to_continue",
            N_("Sign in to continue"),
            *lines,
            links=[(f"{LOGIN_PATH}?next={next_path}", N_("Sign in"))],
            status=403,
        )
    if request.is_safe:
        return FormPage(N_("Confirm your email address"), N_("Confirm"), [], lead=[SIGN_IN_WITH_IT]).show(request)
    add_password(request.dbsession, link_secret(request), locked_account(request))
    send_security_email(request, "password added")
    return message_page(request, "address_confirmed", CONFIRMED, NOW_SIGNS_IN)
