"""The rows of the front, panels of the place ``front``; the list follows beneath them."""

from dataclasses import replace
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator

from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries.front_mods import MODS_IN_ROW
from modhub.catalogue.pages.views.browse import DEFAULT, address_of, join_cards, page_games, page_reader
from modhub.catalogue.pages.views.front_head import read_front
from modhub.catalogue.read_service import ListParams
from modhub.content.text import N_
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request

LEAST_MODS_IN_ROW: Final = 4
"""A row of fewer mods would say less than the list below it, and is left out."""
ROW_TEMPLATE: Final = "modhub.catalogue:templates/front_row.jinja2"
GAME_TILES_TEMPLATE: Final = "modhub.catalogue:templates/front_games.jinja2"


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


def top_row(_context: Any, request: Request) -> Markup | None:
    """The mods with the best votes; a feature that knows what is popular shows that in its stead."""
    return render_sorted_row(request, "top", N_("Top rated"), N_("By votes for a mod, less those against it."))


def new_row(_context: Any, request: Request) -> Markup | None:
    """The mods that were created last."""
    return render_row(request, "new", N_("New mods"), read_front(request).newest)


def updated_row(_context: Any, request: Request) -> Markup | None:
    """The newest versions of older mods."""
    return render_row(request, "updated", N_("Updated mods"), read_front(request).updated, address="#results")


def games_row(_context: Any, request: Request) -> Markup | None:
    """The games with the most mods as tiles, and all of them behind it."""
    games = page_games(request)
    tiles = tuple(tile for tile in read_front(request).tiles if tile.folded in games)
    if not tiles:
        return None
    return PageHelpers(request).cached_fragment(GAME_TILES_TEMPLATE, tiles=tiles, games=games, presenter=ModPresenter)


def includeme(config: Configurator) -> None:
    """Add the rows."""
    rows = {"top": top_row, "new": new_row, "updated": updated_row, "games": games_row}
    for place, (name, render) in enumerate(rows.items(), 1):
        config.add_panel("front", name, render, order=10 * place)
