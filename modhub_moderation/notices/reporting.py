"""Who calls, how often they may report, and which language they read: what the API and the form have in common."""

from msgspec import UnsetType
from pyramid.httpexceptions import HTTPForbidden

from modhub.base.identity import CredentialKind
from modhub.ui.i18n import Catalogs
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.signin.authentication import presented_token
from modhub_moderation.notices.resources import NoticePermission, ReportsResource

MOST_NOTICES = 10
"""Of one caller, and of one account, in the window of ``modhub_auth.window_seconds``."""
COUNTED_AS = "notice"
"""What the counters of callers are for, in logs and metrics."""


def reporter_by_token(context: ReportsResource, request: Request) -> int | None:
    """The account of the token; None if none was sent. The refusals of a credential for one that is bad (C-NTC-4)."""
    if not presented_token(request):
        return None
    allowed = request.has_permission(NoticePermission.REPORT, context)
    if not allowed:
        raise HTTPForbidden(result=allowed)
    account_id: int | None = request.identify(CredentialKind.ACCOUNT).account_id
    return account_id


def reporter_by_session(request: Request) -> int | None:
    """The account that is signed in on pages; None for a stranger."""
    identity = request.identify(CredentialKind.ACCOUNT)
    return None if identity.blocked else identity.account_id


def count_notice(request: Request, account_id: int | None) -> None:
    """429 once the caller, or the account, has sent as many notices as the window has room for (C-NTC-5).

    Call it before the first statement of the request's own transaction: it has one of its own.
    """
    counters = [rate_counter(COUNTED_AS, caller_of(request), MOST_NOTICES)]
    if account_id is not None:
        counters.append(rate_counter(COUNTED_AS, f"account {account_id}", MOST_NOTICES))
    auth_services(request).rate_limiter.count(counters)


def language_of(request: Request, locale: str | UnsetType | None = None) -> str:
    """The language of emails: what was asked for, else that of the request."""
    chosen = request.find_service(Catalogs).choose(locale) if isinstance(locale, str) and locale else None
    return (chosen or translations_for(request)).language
