"""``/Modhub/transparency``: what was reported and decided, month by month, for everybody (C-TRP-1)."""

from pyramid.config import Configurator

from modhub.plugins.resources import ISite
from modhub_moderation.transparency.pages import (
    TRANSPARENCY,
    ITransparency,
    TransparencyResource,
    footer_link,
    in_sitemap,
)

__all__ = ["ITransparency"]


def includeme(config: Configurator) -> None:
    """Mount the page and its JSON, and link to it."""
    config.add_child(ISite, "transparency", TransparencyResource)
    config.add_child(ISite, "transparency.json", TransparencyResource)
    config.add_cross_origin(rf"{TRANSPARENCY}\.json")
    config.add_panel("footer", "transparency", footer_link)
    config.add_sitemap("transparency", in_sitemap)
    config.scan("modhub_moderation.transparency.pages")
