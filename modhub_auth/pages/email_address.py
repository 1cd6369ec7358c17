"""Changing the email address of the account: the form, and the confirmation by the emailed link (C-ACC-22)."""

from typing import Any

from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth import email_addresses
from modhub_auth.container import auth_services
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.form_pages import FORM_TEMPLATE, MESSAGE_TEMPLATE, FormField, FormPage, form_value, message_page
from modhub_auth.pages.fresh_proof import current_login, proven_account
from modhub_auth.pages.password import own_password
from modhub_auth.pages.sign_in import HOME
from modhub_auth.pages.user_agents import browser_name
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.resources import AccountPermission
from modhub_auth.signin.address_change import request_address_change


def email_form(_context: Any, request: Request) -> FormPage:
    """The form for the new address; without a password login only a link to the form that adds one."""
    password_login = own_password(request)
    if password_login is None:
        lead = [N_("This account has no email address yet. Add a password first.")]
        links = [(f"{HOME}/password", "Add a password"), (HOME, "Your account")]
        return FormPage(N_("Change your email address"), "", [], lead=lead, links=links)
    messages = translations_for(request)
    return FormPage(
        N_("Change your email address"),
        N_("Send confirmation link"),
        [
            FormField(
                "email",
                N_("New email address"),
                "email",
                "email",
                check=email_addresses.require_address,
            )
        ],
        lead=[
            messages.gettext(N_("Your email address is %(address)s."), address=password_login.subject),
            N_("We email a link to the new address. Until you have followed it, you sign in with the old one."),
        ],
        username=password_login.subject,
        links=[(HOME, "Your account")],
    )


@page(
    context=IAccount,
    name="email",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=FORM_TEMPLATE,
    fresh_proof=email_form,
)
def email_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/email``: the same page whether or not the new address is taken (T-C5)."""
    auth, limit = auth_services(request), request.registry.settings["modhub_auth.forgot_limit"]
    address = email_addresses.require_address(form_value(request, "email"))
    account_id = current_login(request).account_id
    auth.rate_limiter.count(
        [rate_counter("forgot", caller_of(request), limit), rate_counter("address change", str(account_id), limit)]
    )
    account, _ = proven_account(request)
    request_address_change(
        request.dbsession, auth, account, address, translations_for(request), client=browser_name(request)
    )
    request.override_renderer = MESSAGE_TEMPLATE
    lines = (
        N_("We have sent an email to the new address. The link in it works for an hour."),
        N_("Until you have followed it, you sign in with the old address."),
    )
    return message_page(request, "check_email", N_("Check your email"), *lines, links=[(HOME, "Your account")])
