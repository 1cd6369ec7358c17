"""What was done with an account, on its page and told by email, so that its owner notices what was not theirs."""

from datetime import timedelta
from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.audit import read_own_entries
from modhub.base.identity import CredentialKind
from modhub.content.text import N_
from modhub.db import now, to_micros
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect, previous_page
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth.pages.form_pages import HOME, never_store, never_stored
from modhub_auth.pages.fresh_proof import current_login
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import AccountPermission, IAccount

HISTORY: Final = "modhub_auth:templates/account/history.jinja2"
SHOWN: Final = 100
"""Entries on the page."""
ACTION_TITLES: Final = {
    "registered": N_("Account created"),
    "signed in": N_("Signed in"),
    "signed out everywhere else": N_("Signed out everywhere else"),
    "password added": N_("Password added"),
    "password changed": N_("Password changed"),
    "password reset": N_("Password reset by a link in an email"),
    "address confirmed": N_("Email address confirmed"),
    "email address change requested": N_("Change of the email address requested"),
    "email address changed": N_("Email address changed"),
    "authenticator added": N_("Authenticator added"),
    "authenticator removed": N_("Authenticator removed"),
    "recovery code used": N_("Recovery code used"),
    "recovery codes renewed": N_("New recovery codes created"),
    "login linked": N_("Sign-in method linked"),
    "login unlinked": N_("Sign-in method unlinked"),
    "other logins unlinked": N_("Other sign-in methods unlinked"),
    "publisher key created": N_("Publisher key created"),
    "publisher key revoked": N_("Publisher key revoked"),
    "display name changed": N_("Name changed"),
}
"""The actions of the audit trail that the page shows, and their words."""
WAYS: Final = {
    "pages": N_("on this site"),
    "program": N_("by a program"),
    "publisher key": N_("by a publisher key"),
}
"""How somebody signed in, by the entry's detail ``via``."""


@page(context=IAccount, name="history", request_method="GET", permission=AccountPermission.READ, renderer=HISTORY)
def history_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/history``: the newest entries of the days for which addresses are kept (C-ACC-26)."""
    never_store(request)
    account_id = current_login(request).account_id
    return {
        "entries": read_own_entries(request.dbsession, account_id, ACTION_TITLES, SHOWN),
        "titles": ACTION_TITLES,
        "ways": WAYS,
        "shown": SHOWN,
        "days": request.registry.settings["modhub.audit_days"],
    }


REMINDER_TIME: Final = timedelta(hours=1)
"""How long after signing in pages show the reminder; the account's page shows it until the address is confirmed."""
REMINDER: Final = "modhub_auth:templates/account/unconfirmed.jinja2"
HIDDEN_COOKIE: Final = "modhub-notice-hidden"

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
    if now() - login.signed_in_at > REMINDER_TIME or own_cookie(request, HIDDEN_COOKIE) == _sign_in_of(login):
        return None
    return Markup(render(REMINDER, {"address": login.subject}, request=request))  # noqa: S704 - our template escapes


def _sign_in_of(login: LoginRecord) -> str:
    """What the cookie names: the reminder comes back with the next sign-in."""
    return "" if login.signed_in_at is None else str(to_micros(login.signed_in_at))


@page(context=IAccount, name="hide-notice", request_method="POST", permission=AccountPermission.READ)
def hide_notice_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/hide-notice``: the reminder is not shown again until the next sign-in of this browser."""
    response = Redirect(previous_page(request))
    value = _sign_in_of(current_login(request))
    set_own_cookie(request, response, HIDDEN_COOKIE, value, int(REMINDER_TIME.total_seconds()))
    return never_stored(response)


@page(context=IAccount, name="hide-notice", request_method="GET", permission=AccountPermission.READ)
def redirect_to_account(_context: Any, _request: Request) -> Redirect:
    """``GET``: where a visitor returns to after signing in again."""
    return Redirect(HOME)
