"""Changing the password, and adding one to an account without a password (C-PAGE-4)."""

from typing import Any

from modhub.audit import record
from modhub.content.text import N_
from modhub.plugins.resources import IWellKnown
from modhub.ui.xml_responses import Redirect
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_auth import email_addresses
from modhub_auth.container import auth_services
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import (
    HOME,
    YOUR_ACCOUNT,
    FormPage,
    form_value,
    message_page,
)
from modhub_auth.pages.fresh_proof import (
    current_login,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.pages.sign_in import email_field, new_password_field
from modhub_auth.read_service import PasswordLogin
from modhub_auth.signin import recovery
from modhub_auth.signin.passwords import validate_password
from modhub_auth.signin.registration import count_forgot, request_password


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
        links=[YOUR_ACCOUNT, (f"{HOME}/forgot", N_("Forgot your password?"))],
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
    return message_page(request, "check_email", N_("Check your email"), *lines, links=[YOUR_ACCOUNT])
