"""The pages of the catalogue: browse, a mod, feeds for readers elsewhere, and the owner's workshop."""

from typing import Any

from markupsafe import Markup
from pyramid.config import Configurator

from modhub import limits
from modhub.catalogue.pages.cards import Cards
from modhub.catalogue.pages.reading import PageReader
from modhub.pages.multipart import OVERHEAD
from modhub.pages.tools import Tools, link
from modhub.request import Request


def _workshop(_context: Any, request: Request) -> Markup | None:
    return link(request, "/Modhub/mine", "Workshop") if Tools(request).has_accounts else None


def _draw_cards(config: Configurator) -> None:
    config.registry.catalogue_cards = Cards(config.get_jinja2_environment())


def includeme(config: Configurator) -> None:
    """After the catalogue itself."""
    config.registry.catalogue_pages = PageReader(config.registry.catalogue)
    config.action("modhub cards", lambda: _draw_cards(config), order=1_000)
    config.add_panel("navigation", "workshop", _workshop, order=800)
    config.add_body_limit("POST", "/Modhub/mine/{id}/code", limits.CODE + OVERHEAD)
    config.add_body_limit("POST", "/Modhub/mine/{id}/css", limits.CSS + OVERHEAD)
    config.add_body_limit("POST", "/Modhub/mine/{id}/images", limits.IMAGE + OVERHEAD)
    config.scan("modhub.catalogue.pages")
