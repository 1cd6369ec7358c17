"""What people are told: by email of what other features change, above their pages of an address to be confirmed."""

from datetime import timedelta
from typing import Any, Final

from markupsafe import Markup, escape

from modhub.db import now
from modhub.events import AccountChanged
from modhub.identity import Credential
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub_auth import recovery, texts
from modhub_auth.finding import Found
from modhub_auth.pages.agents import browser_of
from modhub_auth.pages.signing import HOME
from modhub_auth.parts import parts

REMINDED: Final = timedelta(hours=1)
"""So long after signing in; the account's own page says it for as long as it is so."""
SENT: Final = "We have sent an email to %(address)s: follow the link in it to confirm that the address is yours."


def unconfirmed(_context: Any, request: Request) -> Markup | None:
    """Where to look for the email that registering sends, wherever somebody goes from there."""
    found: Found | None = request.identify(Credential.ACCOUNT).details
    if found is None or found.verified or found.signed_in_at is None or request.path.startswith(HOME):
        return None
    if now() - found.signed_in_at > REMINDED:
        return None
    told = messages_of(request).gettext(SENT, address=found.subject)
    return Markup('<p class="note warn" role="status">') + escape(told) + Markup("</p>")


def tell_of_change(event: AccountChanged) -> None:
    """Queue the email in the transaction of the change, for every confirmed address of the account."""
    request = event.request
    recovery.notify(
        request.dbsession,
        parts(request).writer,
        event.account_id,
        "account changed",
        messages_of(request),
        client=browser_of(request),
        text=texts.notice(event.subject, event.sentence),
    )
