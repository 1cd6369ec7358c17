"""What pages show of a feature, and what its requests may send."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.body_rules import IBodyRules
from modhub.base.page_declarations import CardFigure, FrontExclusion, ImageLink, PageFilter, PageOrder
from modhub.base.settings import StartRefused
from modhub.plugins.declarations import API_SORTS, LIST_PARAMETERS, PANEL_PLACES, Panel
from modhub.plugins.features import find_declarations

_PARAMETER: Final = re.compile("[a-z]{1,20}")
"""Also a part of the name of a statement's parameter."""


def add_panel(
    config: Configurator,
    place: str,
    name: str,
    render: Callable[[Any, Any], Any],
    *,
    order: int = 100,
    replaces: str = "",
) -> None:
    """Show ``render(context, request)`` at ``place``, one of `PANEL_PLACES` (docs/writing-a-feature.md).

    It returns ``Markup``; a plain string is text and is escaped. At ``documentation`` it is a section of
    ``/Modhub/doc`` (:mod:`modhub.ui.documentation`). ``replaces`` names a panel there in whose stead it is shown.
    """
    if place not in PANEL_PLACES:
        raise StartRefused(f"no page has a place {place} for the panel {name}; places are {', '.join(PANEL_PLACES)}")

    def register() -> None:
        find_declarations(config).panels.append(Panel(place, name, order, render, replaces))

    config.action(("modhub panel", place, name), register)


def add_page_order(config: Configurator, name: str, title: str, mod_id: Any, value: Any) -> None:
    """Offer an order of the mods on pages and in feeds (`PageOrder`), as ``sort={name}``.

    ``title`` is a msgid. The API keeps its own orders: there the value is an unknown one. Each page reads the table,
    so it needs an index on (``value``, ``mod_id``).
    """
    if name in API_SORTS:
        raise StartRefused(f"lists have the order {name} already")
    order = PageOrder(name, title, mod_id, value)

    def register() -> None:
        find_declarations(config).page_orders[name] = order

    config.action(("modhub page order", name), register)


def add_page_filter(
    config: Configurator,
    name: str,
    title: str,
    unset: str,
    *,
    mod_id: Any,
    value: Any,
    labels: Callable[[Any], Mapping[str, str]],
) -> None:
    """Offer a filter of the mods on pages and in feeds as ``{name}={value}``: a `PageFilter`.

    ``title`` ("Tags") and ``unset`` ("All tags") are msgids. The API has no such parameter. A value that no mod has
    finds nothing. The table needs an index on (``mod_id``, ``value``) and one on (``value``, ``mod_id``). Each browse
    page calls ``labels``.
    """
    if name in LIST_PARAMETERS or not _PARAMETER.fullmatch(name):
        raise StartRefused(f"a filter of lists cannot be called {name}")
    page_filter = PageFilter(name, title, unset, mod_id, value, labels)

    def register() -> None:
        find_declarations(config).page_filters[name] = page_filter

    config.action(("modhub page filter", name), register)


def add_front_exclusion(config: Configurator, name: str, mod_id: Any, condition: Any) -> None:
    """Leave mods out of the front's rows (:class:`modhub.plugins.declarations.FrontExclusion`).

    The table needs an index that begins with ``mod_id``. The rows are kept until the serial moves: after a change of
    whether a published mod meets the condition, call `modhub.db.changes.mark_changed`.
    """
    exclusion = FrontExclusion(name, mod_id, condition)

    def register() -> None:
        find_declarations(config).front_exclusions[name] = exclusion

    config.action(("modhub front exclusion", name), register)


def add_card_figure(config: Configurator, name: str, singular: str, plural: str, *, mod_id: Any, value: Any) -> None:
    """Show a number on the cards of mods, and its sum on authors' pages (`CardFigure`).

    The statements of the cards and of the sums read it, so the table needs an index on ``mod_id``.
    """
    figure = CardFigure(name, singular, plural, mod_id, value)

    def register() -> None:
        find_declarations(config).card_figures[name] = figure

    config.action(("modhub card figure", name), register)


def add_image_link(config: Configurator, name: str, text: str, address: Callable[[int, int], str]) -> None:
    """Show a link below each image on the page of a mod (:class:`modhub.plugins.declarations.ImageLink`).

    Neither the mod's owner nor a preview has it.
    """
    link = ImageLink(name, text, address)

    def register() -> None:
        find_declarations(config).image_links[name] = link

    config.action(("modhub image link", name), register)


def add_body_limit(
    config: Configurator,
    methods: str | tuple[str, ...],
    pattern: str,
    limit: int,
    *,
    credential: str | None = None,
    waits: bool = False,
) -> None:
    """Limit the length of bodies at ``pattern``, and name the header without which the server does not read them.

    ``pattern`` is a path with ``{segment}`` and ``{rest...}``; ``limit`` is in bytes (C-ERR-20). ``waits``: the request
    may wait for its turn or for another program (hashing, scanning), so it gets a thread of a separate pool.
    """
    method_names = (methods,) if isinstance(methods, str) else methods

    def register() -> None:
        rules = config.registry.getUtility(IBodyRules)
        rules.add(method_names, pattern, limit, credential, waits=waits)

    config.action(("modhub body limit", method_names, pattern), register)


def add_cross_origin(config: Configurator, pattern: str) -> None:
    """Let pages of other sites read addresses outside of the API without credentials (CORS): files, feeds.

    ``pattern`` is a regular expression for the whole path, without a trailing slash.
    """
    compiled = re.compile(pattern + "/?")
    config.action(("modhub cross origin", pattern), lambda: find_declarations(config).cross_origin.append(compiled))


def add_robots_rule(config: Configurator, path: str) -> None:
    """Ask robots not to visit any address that begins with ``path`` (``Disallow`` in ``/robots.txt``, RFC 9309).

    ``*`` in it stands for any characters.
    """
    config.action(("modhub robots rule", path), lambda: find_declarations(config).robots.append(path))
