"""``/Modhub``: every state of the list has an address, reached by links and forms without scripts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup

from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.cards import MODS_IN_ROW, CuratedGame, CuratedGames, FeedEntry, Listing
from modhub.catalogue.pages.container import PageServices
from modhub.catalogue.pages.front import is_front, read_front, render_head
from modhub.catalogue.pages.groups import SearchGroups
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
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page

CARD: Final = "modhub.catalogue:templates/card.jinja2"
ENTRY: Final = "modhub.catalogue:templates/entry.jinja2"


def _shown(card: ModPresenter, author: Profile | None) -> dict[str, Any]:
    """Everything of a mod that its card shows, as part of the cache key; the template decodes the document."""
    return {
        "presenter": ModPresenter,
        "document": card.document,
        "image_facts": card.image_facts,
        "author": author and author.name,
    }


def render_card(
    ui: PageHelpers,
    card: ModPresenter,
    author: Profile | None,
    games: CuratedGames,
    loading: str = "lazy",
    *,
    with_changes: bool = False,
    is_new: bool | None = None,
) -> Markup:
    """Render a card; ``loading`` of its image: ``lazy``, ``eager`` (visible at once) or ``first`` (before others).

    ``with_changes``: what is new in the current version is seen; otherwise a script shows it to who has not seen it.
    ``is_new``: the card is marked as new if True, as updated if False; if None, a script may mark it.
    """
    assert card.changed is not None
    # As part of the cache key, the age makes the card be rendered again as time passes.
    age = ui.ago(card.changed)
    values: dict[str, Any] = {"owner": card.owner, "ups": card.ups, "downs": card.downs, "figures": card.figures}
    values |= {"changed": card.changed, "age": age, "told": card.told, "with_changes": with_changes}
    values["is_new"] = is_new
    shown = {**_shown(card, author), **values}
    return ui.cached_fragment(CARD, loading=loading, games=games, fold_game=fold_game, **shown)


def render_feed_entry(ui: PageHelpers, card: ModPresenter, author: Profile | None, entry: FeedEntry) -> Markup:
    """Render a version of the mod as an entry of an Atom feed."""
    return ui.cached_fragment(ENTRY, entry=entry, base=ui.absolute(""), **_shown(card, author))


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
STRIP = 12
"""Games in the line above the list; the others are behind "All games"."""
LEAST_MODS_IN_ROW = 4
"""A row of fewer mods would say less than the list below it, and is left out."""
ROW_TEMPLATE = "modhub.catalogue:templates/front_row.jinja2"
GAME_TILES_TEMPLATE = "modhub.catalogue:templates/front_games.jinja2"
SIMILAR_LETTERS = 3
"""Shorter words are in too many names."""
SUGGESTED = 5
"""Games that an empty list suggests."""
EAGER = 6
"""Cards whose images are loaded eagerly."""
_GAMES = "modhub.games"
GAMES_TEMPLATE = "modhub.catalogue:templates/games.jinja2"
OPTIONS = "modhub.catalogue:templates/options.jinja2"


def page_reader(request: Request) -> PageReader:
    """Return the reader of the pages."""
    return request.find_service(PageServices).pages


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
    """Return the address of a list."""
    return "/Modhub" + query_of(params)


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

    def games(self, games: Iterable[CuratedGame]) -> Iterator[tuple[CuratedGame, str]]:
        """Yield each of these games with the address of the first page filtered by it."""
        query_params = _query_params(replace(self.params, page=1))
        for game in games:
            yield game, "/Modhub" + _join_query({**query_params, "game": quote_plus(game.name)})

    def without(self, name: str) -> str:
        """Return the address of the first page without a feature's filter."""
        return self.with_(filters=tuple(pair for pair in self.params.filters if pair[0] != name))

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


def page_numbers(current: int, last: int) -> Iterator[int | None]:
    """Yield the first, the last and the pages around the current one; None for a gap."""
    numbers = sorted({1, last, *(n for n in range(current - 2, current + 3) if 1 <= n <= last)})
    previous = 0
    for number in numbers:
        if number == previous + 2:
            yield previous + 1
        elif number > previous + 1:
            yield None
        yield number
        previous = number


def games_in_strip(games: CuratedGames, chosen: CuratedGame | None) -> list[CuratedGame]:
    """Return the games in the line above the list: the first ones, and always the chosen one."""
    shown = list(games.values())[:STRIP]
    return shown if chosen is None or chosen in shown else [chosen, *shown[:-1]]


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


def card_loading(index: int) -> str:
    """When the image of the card at this place of a list is loaded."""
    return "first" if index == 0 else "eager" if index < EAGER else "lazy"


def render_cards(
    request: Request,
    cards: list[ModPresenter],
    games: CuratedGames,
    *,
    with_changes: bool = False,
    marks: Mapping[int, bool] | None = None,
) -> list[Any]:
    """Return the cards with the names of their authors; ``with_changes`` and, by id, ``marks`` as in `render_card`."""
    ui, authors, marked = PageHelpers(request), find_authors(request, cards), marks or {}
    return [
        render_card(
            ui,
            card,
            authors.get(card.owner),
            games,
            card_loading(index),
            with_changes=with_changes,
            is_new=marked.get(card.mod.id),
        )
        for index, card in enumerate(cards)
    ]


def join_cards(request: Request, cards: list[ModPresenter], loading: str = "lazy") -> Markup:
    """Return the cards of a row, of which none is seen before the others."""
    ui, games, authors = PageHelpers(request), page_games(request), find_authors(request, cards)
    return Markup("\n").join(render_card(ui, card, authors.get(card.owner), games, loading) for card in cards)


def search_groups(request: Request, params: ListParams) -> SearchGroups | None:
    """What else a search finds, on its first page; None where a game restricts it, which authors are not for."""
    if not params.q or params.game or params.page > 1:
        return None
    return request.find_service(PageServices).groups.groups(params.q)


def render_row(
    request: Request, name: str, title: str, cards: list[ModPresenter], *, address: str = "", note: str = ""
) -> Markup | None:
    """Return a row of cards, with a link to all of them if there is an ``address``; None if there are too few."""
    if len(cards) < LEAST_MODS_IN_ROW:
        return None
    # The first row may be seen at once; it is the one with an order of its own.
    shown = join_cards(request, cards, "eager" if note else "lazy")
    values = {"name": name, "title": title, "note": note, "address": address, "cards": shown}
    return PageHelpers(request).cached_fragment(ROW_TEMPLATE, **values)


def render_sorted_row(request: Request, sort: str, title: str, note: str) -> Markup | None:
    """Return the first mods in an order of the list as a row."""
    params = ListParams(sort=sort, size=MODS_IN_ROW, front=True)
    address = address_of(replace(params, size=DEFAULT.size, front=False))
    return render_row(request, sort, title, page_reader(request).first_cards(params), address=address, note=note)


def new_row(request: Request) -> Markup | None:
    """The mods that were created last."""
    return render_row(request, "new", N_("New mods"), read_front(request).newest)


def updated_row(request: Request) -> Markup | None:
    """The newest versions of older mods."""
    return render_row(request, "updated", N_("Updated mods"), read_front(request).updated, address="#results")


def games_row(request: Request) -> Markup | None:
    """The games with the most mods as tiles, and all of them behind it."""
    games = page_games(request)
    tiles = tuple(tile for tile in read_front(request).tiles if tile.folded in games)
    if not tiles:
        return None
    return PageHelpers(request).cached_fragment(GAME_TILES_TEMPLATE, tiles=tiles, games=games, presenter=ModPresenter)


def front_rows(request: Request) -> list[Markup]:
    """Return the rows of the front: the orders of features that have one, else the best votes; then ours."""
    orders = [order for order in request.find_service(Declarations).orders if order.row]
    rows = [render_sorted_row(request, order.name, order.order, order.row) for order in orders]
    if not orders:
        rows = [render_sorted_row(request, "top", N_("Top rated"), N_("By votes for a mod, less those against it."))]
    rows += [new_row(request), updated_row(request), games_row(request)]
    return [row for row in rows if row is not None]


@page(context=ISite, request_method="GET", permission=OPEN, renderer="modhub.catalogue:templates/browse.jinja2")
def browse_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub``: ``q``, ``game``, ``sort``, ``page``, ``size`` as in the JSON list, and filters of features.

    Without a query it is the front.
    """
    front = is_front(request)
    params = page_list_params(request)
    listing: Listing = read_front(request).listing if front else page_reader(request).listing(params)
    games, shown = page_games(request), listing.cards
    chosen = games.get(fold_game(params.game)) if params.game else None
    ui = PageHelpers(request)
    choices = filter_choices(request, params)
    # Callers choose these texts: the links of each are not kept.
    is_any = params.q or any(choice.value and choice.value not in choice.labels for choice in choices)
    links = ui.render_fragment if is_any else ui.cached_fragment
    filters = Filters(replace(params, page=1, game=""))
    feed_query = query_of(replace(params, page=1, size=PAGE_SIZE))
    return {
        "front": front,
        "head": render_head(request) if front else None,
        "rows": front_rows(request) if front else [],
        "is_game": bool(params.game and not params.q),
        "listing": listing,
        "cards": [join_cards(request, shown)] if front and shown else render_cards(request, shown, games),
        "options": ui.cached_fragment(OPTIONS, games=games, chosen=chosen),
        "game_links": links(
            GAMES_TEMPLATE, games=games, strip=tuple(games_in_strip(games, chosen)), chosen=chosen, filters=filters
        ),
        "groups": search_groups(request, params),
        "similar": [] if listing.total else list(Filters(DEFAULT).games(similar_games(games, params))),
        "params": params,
        "filters": Filters(params),
        "choices": choices,
        "chosen_values": [choice for choice in choices if choice.value],
        "query": query_of(params if params.sort in API_SORTS else replace(params, sort=DEFAULT.sort)),
        "games": games,
        "chosen": chosen,
        "game_name": chosen.display_name if chosen else params.game,
        "share_image": ShareImage(chosen.icon, chosen.display_name) if chosen and chosen.icon else None,
        "numbers": list(page_numbers(min(params.page, listing.pages), listing.pages)),
        "sorts": _sorts(request),
        "page_size": PAGE_SIZE,
        "feed": "/Modhub/feed" + feed_query,
        "json_feed": "/Modhub/feed.json" + feed_query,
    }


FOUND_TEMPLATE: Final = "modhub.catalogue:templates/found.jinja2"


@page(context=ISite, name="authors", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def found_authors_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/authors``: the authors of published mods whose name has all words of ``q``, 20 a ``page``."""
    params, groups = _params(request), request.find_service(PageServices).groups
    authors = groups.authors(params.q, params.size, (params.page - 1) * params.size)
    values = _values(params, groups.authors_total(params.q), "authors")
    return values | {"heading": _say(request, N_("Authors")), "label": _say(request, N_("Name")), "authors": authors}


@page(context=ISite, name="descriptions", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def described_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/descriptions``: the mods with all words of ``q`` in their description, 20 a ``page``."""
    params = _params(request)
    listing = request.find_service(PageServices).groups.described(params)
    heading, label = N_("In descriptions"), N_("Words of a description")
    return _values(params, listing.total, "descriptions") | {
        "heading": _say(request, heading),
        "label": _say(request, label),
        "cards": render_cards(request, listing.cards, page_reader(request).games()),
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
        "numbers": list(page_numbers(min(params.page, pages), pages)),
        "address": address,
        "authors": [],
        "cards": None,
    }
