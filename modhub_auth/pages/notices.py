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

KEY_FIRST: Final = N_("Give your script a publisher key as MODHUB_API_KEY.")
CREATE_KEY: Final = "Create a publisher key"
PUBLISH: Final = N_("%(tool)s then uploads and publishes what has changed:")
EXCHANGE: Final = N_("With curl, exchange the key for a token, which is valid for 30 minutes:")
EXCHANGE_LINES: Final = """\
TOKEN=$(curl --fail-with-body -H 'Content-Type: application/json' \\
  -d "{{\\"key\\": \\"$MODHUB_API_KEY\\"}}" '{0}/api/auth/exchange' |
  sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')"""
PUBLISH_LINES: Final = "modhub-publish --url '{0}' mod {1} mod.zip --version 1.0 --publish"
LINES: Final = Markup('<p>{0}</p>\n<pre class="lines" tabindex="0"><code>{1}</code></pre>')


def script_token(context: Any, request: Request) -> Markup:
    """How an owner's script signs in: by a publisher key, never by the password."""
    messages, base = translations_for(request), request.registry.settings["modhub.base_url"]
    link = Markup('<a href="/Modhub/account/publisher-key">{}</a>').format(messages.gettext(CREATE_KEY))
    tool = messages.gettext(PUBLISH, tool="modhub-publish")
    return Markup("\n").join(
        (
            Markup("<p>{} {}</p>").format(messages.gettext(KEY_FIRST), link),
            LINES.format(tool, PUBLISH_LINES.format(base, context.__name__)),
            LINES.format(messages.gettext(EXCHANGE), EXCHANGE_LINES.format(base)),
        )
    )


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
