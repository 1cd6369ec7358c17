"""``/Modhub``: the front, and the list, each of whose states has an address, reached without scripts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, repeat
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup

from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.cards import MODS_IN_ROW, CuratedGame, CuratedGames, Listing
from modhub.catalogue.pages.groups import GroupReader, SearchGroups
from modhub.catalogue.pages.presenter import ModPresenter
from modhub.catalogue.pages.reader import PageReader
from modhub.catalogue.reading.service import ListParams
from modhub.catalogue.reading.views import list_params
from modhub.content import text
from modhub.content.folding import fold_game, fold_search, search_words
from modhub.content.limits import PAGE_SIZE, QUERY
from modhub.content.text import N_
from modhub.plugins.declarations import API_SORTS, Declarations
from modhub.plugins.resources import ISite
from modhub.plugins.services import IProfiles, Profile
from modhub.ui.share_images import ShareImage
from modhub.ui.site_settings import FRONT_ASSET
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page

CARDS: Final = "modhub.catalogue:templates/cards.jinja2"


_FOUND: Final = "modhub.authors"


def find_authors(request: Request, mods: Iterable[ModPresenter]) -> Mapping[int, Profile | None]:
    """Return at least the authors of these mods by account; none without :class:`IProfiles`.

    One lookup of those that the request has not asked for yet: the rows of a page have many in common.
    """
    profiles = find_optional_service(request.registry, IProfiles)
    if profiles is None:
        return {}
    authors: dict[int, Profile | None] = request.environ.setdefault(_FOUND, {})
    unknown = {mod.owner for mod in mods} - authors.keys()
    if unknown:
        authors.update(dict.fromkeys(unknown))
        authors.update(profiles.get_profiles(unknown))
    return authors


DEFAULT = ListParams()
"""The list without a filter."""
SORTS = {"new": N_("Recently updated"), "top": N_("Top rated")}
"""The orders to choose from and their labels, the default first."""
FRONT_HEAD_TEMPLATE = "modhub.catalogue:templates/front_head.jinja2"
ROW_TEMPLATE = "modhub.catalogue:templates/front_row.jinja2"
GAME_TILES_TEMPLATE = "modhub.catalogue:templates/front_games.jinja2"
SIMILAR_LETTERS = 3
"""Shorter words are in too many names."""
SUGGESTED = 5
"""Games that an empty list suggests."""
EAGER = 6
"""Cards whose images are loaded eagerly."""
_GAMES = "modhub.games"


def page_reader(request: Request) -> PageReader:
    """Return the reader of the pages."""
    return request.find_service(PageReader)


def page_games(request: Request) -> CuratedGames:
    """Return the curated games, which each request reads once."""
    environ = request.environ
    if _GAMES not in environ:
        environ[_GAMES] = page_reader(request).games()
    games: CuratedGames = environ[_GAMES]
    return games


def _sorts(request: Request) -> dict[str, str]:
    """The labels of all orders, by the value of ``sort``: ours, then those of features."""
    orders = request.find_service(Declarations).orders
    return {**SORTS, **{order.name: order.order for order in orders}}


def page_list_params(request: Request) -> ListParams:
    """Parse the list parameters of a page, which has more orders and filters than the API."""
    names = (column.name for column in request.find_service(Declarations).filters)
    values = ((name, query(request, name) or "") for name in names)
    filters = tuple((name, text.line(value, QUERY)) for name, value in values if value)
    return replace(list_params(request, _sorts(request)), filters=tuple(pair for pair in filters if pair[1]))


def _query_params(params: ListParams) -> dict[str, str]:
    """Return the encoded query parameters in order; defaults are empty strings."""
    default = DEFAULT
    return {
        "q": quote_plus(params.q),
        "game": quote_plus(params.game),
        **{name: quote_plus(value) for name, value in params.filters},
        "sort": "" if params.sort == default.sort else params.sort,
        "page": "" if params.page == default.page else str(params.page),
        "size": "" if params.size == default.size else str(params.size),
    }


def _join_query(query_params: dict[str, str]) -> str:
    query = "&".join([f"{name}={value}" for name, value in query_params.items() if value])
    return "?" + query if query else ""


def query_of(params: ListParams) -> str:
    """Return the query string without defaults; empty or beginning with ``?``."""
    return _join_query(_query_params(params))


def address_of(params: ListParams) -> str:
    """Return the address of a list. Without a query it would be the front."""
    return "/Modhub" + (query_of(params) or f"?sort={DEFAULT.sort}")


@dataclass(frozen=True, slots=True)
class Filters:
    """Builds the addresses of related lists."""

    params: ListParams

    def with_(self, **changes: Any) -> str:
        """Return the address of the first page with these changes."""
        return address_of(replace(self.params, **{"page": 1, **changes}))

    def page(self, number: int) -> str:
        """Return the address of another page of the list."""
        return address_of(replace(self.params, page=number))

    @property
    def active(self) -> bool:
        """Whether a filter is set."""
        return bool(self.params.q or self.params.game or self.params.filters)


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A feature's filter as the page offers it; ``value`` is the chosen one, or empty."""

    name: str
    title: str
    unset: str
    labels: Mapping[str, str]
    value: str

    @property
    def label(self) -> str:
        """What readers see of the chosen value."""
        return self.labels.get(self.value, self.value)


def filter_choices(request: Request, params: ListParams) -> list[FilterChoice]:
    """Return the filters of features, each with its values; none without a value to choose."""
    declared, chosen = request.find_service(Declarations).filters, dict(params.filters)
    choices = (
        FilterChoice(
            column.name, column.filter[0], column.filter[1], column.labels(request), chosen.get(column.name, "")
        )
        for column in declared
        if column.labels is not None
    )
    return [choice for choice in choices if choice.labels or choice.value]


def page_numbers(current: int, last: int) -> list[int | None]:
    """The first, the last and the pages around the current one; None for a gap."""
    current = min(current, last)
    shown = sorted({1, last, *(n for n in range(current - 2, current + 3) if 1 <= n <= last)})
    numbers: list[int | None] = []
    for previous, number in pairwise([0, *shown]):
        if number > previous + 1:
            numbers.append(previous + 1 if number == previous + 2 else None)
        numbers.append(number)
    return numbers


def similar_games(games: CuratedGames, params: ListParams) -> list[CuratedGame]:
    """Return curated games whose name has a word of the filters: what an empty list suggests."""
    words = {word for word in (*search_words(params.q), *search_words(params.game)) if len(word) >= SIMILAR_LETTERS}
    similar = (
        game
        for folded, game in games.items()
        if folded != fold_game(params.game)
        and any(word in name for name in map(fold_search, (game.name, game.display_name)) for word in words)
    )
    return list(islice(similar, SUGGESTED))


def render_cards(
    request: Request,
    cards: Sequence[ModPresenter],
    loadings: Iterable[str],
    authors: Mapping[int, Profile | None],
    *,
    is_leading: bool = False,
    with_changes: bool = False,
    marks: Mapping[int, bool] | None = None,
) -> Markup:
    """Return the cards, with the names of their ``authors`` by account.

    ``loadings``: when the image of each is loaded: ``lazy``, ``eager`` (visible at once) or ``first`` (before others).
    ``is_leading``: the first is larger than the others.
    ``with_changes``: what is new in the current version is seen; otherwise a script shows it to who has not seen it.
    ``marks``, by id: the mod is marked as new if True, as updated if False; of others a script may mark it.
    """
    shown = [
        (card, authors.get(card.owner), loading, is_leading and index == 0, (marks or {}).get(card.mod.id))
        for index, (card, loading) in enumerate(zip(cards, loadings, strict=False))
    ]
    return PageHelpers(request).render(CARDS, cards=shown, games=page_games(request), with_changes=with_changes)


def list_cards(request: Request, cards: list[ModPresenter], **options: Any) -> Markup:
    """Return the cards of a list, of which some are seen at once; ``options`` as in `render_cards`."""
    loadings = ["first", *repeat("eager", EAGER - 1), *repeat("lazy", len(cards))]
    return render_cards(request, cards, loadings, find_authors(request, cards), **options)


def row_cards(request: Request, cards: Sequence[ModPresenter]) -> Markup:
    """Return the cards of a row below the first screen; they do not name their authors."""
    return render_cards(request, cards, repeat("lazy"), {})


FOUND_VALUES = 3
"""Values of filters that a search finds."""


def found_filters(request: Request, params: ListParams, choices: list[FilterChoice]) -> list[tuple[str, str, str, int]]:
    """(title of the filter, label, address, number of mods) of the values whose label has all words of a search."""
    words = search_words(params.q)
    if not words or params.page > 1 or params.game or params.filters:
        return []
    named = (
        (choice, value, label)
        for choice in choices
        for value, label in choice.labels.items()
        if all(word in fold_search(label) for word in words)
    )
    found = []
    for choice, value, label in islice(named, FOUND_VALUES):
        of_value = ListParams(filters=((choice.name, value),), size=1)
        total = page_reader(request).listing(of_value).total
        if total:
            found.append((choice.title, label, address_of(replace(of_value, size=DEFAULT.size)), total))
    return found


def search_groups(request: Request, params: ListParams) -> SearchGroups | None:
    """What else a search finds, on its first page; None where a game restricts it, which authors are not for."""
    if not params.q or params.game or params.page > 1:
        return None
    return request.find_service(GroupReader).groups(params.q)


def render_head(request: Request) -> Markup:
    """Return what the front begins with: the operator's picture and text, else for visitors what there is to do."""
    ui, settings = PageHelpers(request), request.registry.settings
    is_visitor = ui.account is None
    return ui.render(
        FRONT_HEAD_TEMPLATE,
        picture=ui.site_file(FRONT_ASSET),
        text=settings["modhub.front_text"] or (settings["modhub.welcome"] if is_visitor else None),
        is_visitor=is_visitor,
        app_links=ui.panels("app")[:1] if is_visitor else (),
    )


def front_rows(request: Request) -> list[Markup]:
    """Return the rows of the front: the orders of features that have one, else the best votes; new mods; games.

    No row has a mod that is in a row above.
    """
    ui, reader = PageHelpers(request), page_reader(request)
    orders = [(order.name, order.order) for order in request.find_service(Declarations).orders if order.row]
    seen: set[int] = set()
    rows: list[Markup] = []
    for name, title in [*(orders or [("top", SORTS["top"])]), ("new", N_("New mods"))]:
        params = ListParams(sort=name, size=2 * MODS_IN_ROW, front=True)
        found = reader.newest() if name == "new" else reader.first_cards(params)
        cards = [card for card in found if card.mod.id not in seen][:MODS_IN_ROW]
        if not cards:
            continue
        loadings = repeat("lazy") if rows else ["first", *repeat("eager", len(cards))]
        shown = render_cards(request, cards, loadings, {}, is_leading=not rows)
        address = "" if name == "new" else address_of(ListParams(sort=name))
        is_leading = not rows and len(cards) == MODS_IN_ROW
        values = {"name": name, "title": title, "address": address, "cards": shown, "is_leading": is_leading}
        rows.append(ui.render(ROW_TEMPLATE, **values))
        seen.update(card.mod.id for card in cards)
    games = page_games(request)
    tiles = tuple(tile for tile in reader.tiles() if tile.folded in games)
    if tiles:
        rows.append(ui.render(GAME_TILES_TEMPLATE, tiles=tiles, games=games))
    return rows


@page(context=ISite, request_method="GET", permission=OPEN, renderer="modhub.catalogue:templates/browse.jinja2")
def browse_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub``: ``q``, ``game``, ``sort``, ``page``, ``size`` as in the JSON list, and filters of features.

    Without a query it is the front.
    """
    games, reader = page_games(request), page_reader(request)
    front = not request.environ.get("QUERY_STRING")
    params = page_list_params(request)
    # The front has no list of its own.
    listing = Listing([], reader.total(), params) if front else reader.listing(params)
    cards = reader.with_successors(listing.cards) if params.q else listing.cards
    chosen = games.find(params.game) if params.game else None
    choices = filter_choices(request, params)
    feed_query = query_of(replace(params, page=1, size=PAGE_SIZE))
    return {
        "front": front,
        "head": render_head(request) if front else None,
        "rows": front_rows(request) if front else [],
        "is_game": bool(params.game and not params.q),
        "listing": listing,
        "cards": list_cards(request, cards) if cards else "",
        "games": games,
        "groups": search_groups(request, params),
        "found_filters": found_filters(request, params, choices),
        "similar": [] if listing.total else similar_games(games, params),
        "params": params,
        "filters": Filters(params),
        "choices": choices,
        "chosen_values": [choice for choice in choices if choice.value],
        "query": query_of(params if params.sort in API_SORTS else replace(params, sort=DEFAULT.sort)),
        "chosen": chosen,
        "game_name": chosen.display_name if chosen else params.game,
        "share_image": ShareImage(chosen.icon, chosen.display_name) if chosen and chosen.icon else None,
        "numbers": page_numbers(params.page, listing.pages),
        "sorts": _sorts(request),
        "page_size": PAGE_SIZE,
        "feed": "/Modhub/feed" + feed_query,
        "json_feed": "/Modhub/feed.json" + feed_query,
    }


FOUND_TEMPLATE: Final = "modhub.catalogue:templates/found.jinja2"


@page(context=ISite, name="authors", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def found_authors_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/authors``: the authors of published mods whose name has all words of ``q``, 20 a ``page``."""
    params, groups = _params(request), request.find_service(GroupReader)
    authors = groups.authors(params.q, params.size, (params.page - 1) * params.size)
    values = _values(params, groups.authors_total(params.q), "authors")
    return values | {"heading": _say(request, N_("Authors")), "label": _say(request, N_("Name")), "authors": authors}


@page(context=ISite, name="descriptions", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def described_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/descriptions``: the mods with all words of ``q`` in their description, 20 a ``page``."""
    params = _params(request)
    listing = request.find_service(GroupReader).described(params)
    heading, label = N_("In descriptions"), N_("Words of a description")
    return _values(params, listing.total, "descriptions") | {
        "heading": _say(request, heading),
        "label": _say(request, label),
        "cards": list_cards(request, listing.cards),
    }


def _params(request: Request) -> ListParams:
    asked = list_params(request)
    return ListParams(q=asked.q, page=asked.page)


def _say(request: Request, text: str) -> str:
    return translations_for(request).gettext(text)


def _values(params: ListParams, total: int, name: str) -> dict[str, Any]:
    path, pages = f"/Modhub/{name}", max(1, -(-total // params.size))

    def address(number: int) -> str:
        return f"{path}?{urlencode({'q': params.q, 'page': number} if number > 1 else {'q': params.q})}"

    return {
        "params": params,
        "path": path,
        "total": total,
        "pages": pages,
        "numbers": page_numbers(params.page, pages),
        "address": address,
        "authors": [],
        "cards": None,
    }
