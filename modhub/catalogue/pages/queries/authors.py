"""Authors' names, where a feature knows the people behind account numbers."""

from collections.abc import Iterable

from modhub.catalogue.pages.queries.page_queries import ModCard
from modhub.interfaces import IProfiles
from modhub.request import Request
from modhub.service_registry import find_optional_service


def name_authors(request: Request, cards: Iterable[ModCard]) -> None:
    """Say on each card who made it, in one statement; without the utility nobody is named."""
    profiles = find_optional_service(request.registry, IProfiles)
    shown = list(cards)
    if profiles is None or not shown:
        return
    people = profiles.get_profiles({card.owner for card in shown})
    for card in shown:
        person = people.get(card.owner)
        card.author, card.since = person or (None, None)
