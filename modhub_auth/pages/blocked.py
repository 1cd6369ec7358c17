"""What somebody may read who has just shown that a blocked account is theirs, and cannot sign in to it."""

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service
from modhub.content.text import N_
from modhub.web.request import Request
from modhub_auth.interfaces import IBlockedAccounts
from modhub_auth.pages.form_pages import Links
from modhub_auth.services import BlockedAccountError


def links_for_blocked(request: Request, error: ApiError) -> Links:
    """The way to the reasons, for the page of a sign-in that ``error`` refused; empty for any other refusal."""
    service = find_optional_service(request.registry, IBlockedAccounts)
    if service is None or not isinstance(error, BlockedAccountError):
        return []
    path = service.find_reasons(request, error.account_id)
    return [] if path is None else [(path, N_("Why the account is blocked, and how to appeal"))]
