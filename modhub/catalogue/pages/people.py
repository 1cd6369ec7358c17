"""Authors' names, where a feature knows the people behind account numbers."""

from collections.abc import Iterable

from modhub.catalogue.pages.reading import Card
from modhub.interfaces import IProfiles
from modhub.request import Request


def name_authors(request: Request, cards: Iterable[Card]) -> None:
    """Put the author's name on each card, in one statement; without the utility no name is shown."""
    profiles = request.registry.queryUtility(IProfiles)
    shown = list(cards)
    if profiles is None or not shown:
        return
    names = profiles.display_names(request.dbsession, {card.owner for card in shown})
    for card in shown:
        card.author = names.get(card.owner)
