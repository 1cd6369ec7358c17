"""``/Modhub/account/history``: what was done with an account, so that its owner notices what was not theirs."""

from typing import Any, Final

from modhub.audit import read_own_entries
from modhub.content.text import N_
from modhub.web.request import Request
from modhub.web.views import page
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.form_pages import never_store
from modhub_auth.pages.fresh_proof import current_login
from modhub_auth.resources import AccountPermission

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
