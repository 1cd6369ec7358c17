"""Notices: the email about a change by another feature, and the reminder on pages to confirm an address."""

from datetime import timedelta
from typing import Any, Final

from markupsafe import Markup, escape

from modhub.base.identity import CredentialKind
from modhub.content.text import N_
from modhub.db import now
from modhub.events import AccountChanged
from modhub.http.request import Request
from modhub.ui.template_helpers import translations_for
from modhub_auth.container import auth_services
from modhub_auth.mail import texts
from modhub_auth.pages.sign_in import HOME
from modhub_auth.pages.user_agents import browser_name
from modhub_auth.read_service import LoginRecord
from modhub_auth.signin import recovery

REMINDER_TIME: Final = timedelta(hours=1)
"""How long after signing in pages show the reminder; the account's page shows it until the address is confirmed."""
EMAIL_SENT: Final = "We have sent an email to %(address)s: follow the link in it to confirm that the address is yours."

SCRIPT: Final = N_("Sign in with POST /api/auth/login and put the accessToken into TOKEN; it is valid for 30 minutes.")


def script_token(_context: Any, request: Request) -> Markup:
    """How an owner's script gets an access token."""
    return Markup("<p>") + escape(translations_for(request).gettext(SCRIPT)) + Markup("</p>")


def unconfirmed_notice(_context: Any, request: Request) -> Markup | None:
    """The reminder to follow the link in the confirmation email, or None."""
    login: LoginRecord | None = request.identify(CredentialKind.ACCOUNT).details
    if login is None or login.verified or login.signed_in_at is None or request.path.startswith(HOME):
        return None
    if now() - login.signed_in_at > REMINDER_TIME:
        return None
    notice = translations_for(request).gettext(EMAIL_SENT, address=login.subject)
    return Markup('<p class="note warn" role="status" data-message="email_sent">') + escape(notice) + Markup("</p>")


def queue_change_email(event: AccountChanged) -> None:
    """Queue the notice to every confirmed address of the account, in the transaction of the change."""
    request = event.request
    recovery.queue_security_email(
        request.dbsession,
        auth_services(request).outbox,
        event.account_id,
        "account changed",
        translations_for(request),
        client=browser_name(request),
        template=texts.security_email(event.subject, event.sentence),
    )
