"""Names of authors, if a feature provides profiles."""

from collections.abc import Iterable

from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.queries.page_queries import ModCard
from modhub.http.request import Request
from modhub.interfaces import IProfiles


def name_authors(request: Request, cards: Iterable[ModCard]) -> None:
    """Set the author of each card, in one lookup; without :class:`IProfiles` authors stay None."""
    profiles = find_optional_service(request.registry, IProfiles)
    listed = list(cards)
    if profiles is None or not listed:
        return
    by_account = profiles.get_profiles({card.owner for card in listed})
    for card in listed:
        card.author, card.since = by_account.get(card.owner) or (None, None)
