"""``/Modhub``: every state of the list is an address; forms and links alone move between them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote_plus

from modhub.catalogue.pages.presenters.card import render_card
from modhub.catalogue.pages.queries.authors import name_authors
from modhub.catalogue.pages.queries.page_queries import CuratedGame, CuratedGames, Listing, PageReader
from modhub.catalogue.public_views import list_params
from modhub.catalogue.read_service import ListParams
from modhub.folding import fold_game
from modhub.interfaces import ISite
from modhub.limits import PAGE_SIZE
from modhub.request import Request
from modhub.ui.template_helpers import PageHelpers
from modhub.views import OPEN, page

_DEFAULT = ListParams()
PAGE_SIZES = (20, 50, 100)
EAGER = 6
"""Cards whose pictures are seen at once."""
MAX_GAMES_SHOWN = "modhub.catalogue:templates/games.jinja2"
OPTIONS = "modhub.catalogue:templates/options.jinja2"


def page_reader(request: Request) -> PageReader:
    """The reading side of the pages."""
    return request.find_service(PageReader)


def _parts(wanted: ListParams) -> dict[str, str]:
    """What ``wanted`` asks for besides what is the default, ready for an address, in the order of its query."""
    default = _DEFAULT
    return {
        "q": quote_plus(wanted.q),
        "game": quote_plus(wanted.game),
        "sort": "" if wanted.sort == default.sort else wanted.sort,
        "page": "" if wanted.page == default.page else str(wanted.page),
        "size": "" if wanted.size == default.size else str(wanted.size),
    }


def _joined(parts: dict[str, str]) -> str:
    asked = "&".join([f"{name}={value}" for name, value in parts.items() if value])
    return "?" + asked if asked else ""


def query_of(wanted: ListParams) -> str:
    """The query that asks for ``wanted``, without what is the default; empty or beginning with ``?``."""
    return _joined(_parts(wanted))


def address_of(wanted: ListParams) -> str:
    """The address of a list."""
    return "/Modhub" + query_of(wanted)


@dataclass(frozen=True, slots=True)
class Filters:
    """The addresses that lead from one list to its neighbours."""

    wish: ListParams

    def with_(self, **changes: Any) -> str:
        """The first page of the list with these changes."""
        return address_of(replace(self.wish, **{"page": 1, **changes}))

    def at(self, number: int) -> str:
        """Another page of the same list."""
        return address_of(replace(self.wish, page=number))

    def games(self, games: CuratedGames) -> Iterator[tuple[CuratedGame, str]]:
        """Each curated game with the first page of the list for it."""
        parts = _parts(replace(self.wish, page=1))
        for game in games.values():
            yield game, "/Modhub" + _joined({**parts, "game": quote_plus(game.name)})

    @property
    def active(self) -> bool:
        """Whether anything narrows the list."""
        return bool(self.wish.q or self.wish.game)


def page_numbers(current: int, last: int) -> Iterator[int | None]:
    """The first, the last and those around the current page; None stands for a gap."""
    wanted = sorted({1, last, *(n for n in range(current - 2, current + 3) if 1 <= n <= last)})
    before = 0
    for number in wanted:
        if number == before + 2:
            yield before + 1
        elif number > before + 1:
            yield None
        yield number
        before = number


@page(context=ISite, request_method="GET", permission=OPEN, renderer="modhub.catalogue:templates/browse.jinja2")
def browse_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub``: ``q``, ``game``, ``sort``, ``page``, ``size`` as in the JSON list."""
    wanted = list_params(request)
    reader = page_reader(request)
    listing: Listing = reader.listing(wanted)
    name_authors(request, listing.cards)
    games = reader.games()
    chosen = games.get(fold_game(wanted.game)) if wanted.game else None
    ui = PageHelpers(request)
    strip = ui.render_fragment if wanted.q else ui.cached_fragment
    return {
        "listing": listing,
        "cards": [render_card(ui, card, games, at < EAGER) for at, card in enumerate(listing.cards)],
        "options": ui.cached_fragment(OPTIONS, games=games),
        "strip": strip(MAX_GAMES_SHOWN, games=games, chosen=chosen, filters=Filters(replace(wanted, page=1, game=""))),
        "wish": wanted,
        "filters": Filters(wanted),
        "query": query_of(wanted),
        "games": games,
        "chosen": chosen or (CuratedGame(wanted.game, wanted.game, None) if wanted.game else None),
        "numbers": list(page_numbers(min(wanted.page, listing.pages), listing.pages)),
        "sizes": PAGE_SIZES,
        "feed": "/Modhub/feed" + query_of(replace(wanted, page=1, size=PAGE_SIZE)),
    }
