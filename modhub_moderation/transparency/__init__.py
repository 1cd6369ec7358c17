"""``/Modhub/transparency``: what was reported and decided, month by month, for everybody (C-TRP-1)."""

from pyramid.config import Configurator

from modhub.plugins.resources import ISite
from modhub.ui.documentation import documentation_section
from modhub_moderation.cases.models import DecisionKind, Ground
from modhub_moderation.transparency.pages import (
    DECISIONS,
    TRANSPARENCY,
    ITransparency,
    TransparencyResource,
    footer_link,
    in_sitemap,
)
from modhub_moderation.transparency.report import FEW, LEAST, MONTHS

__all__ = ["ITransparency"]


def includeme(config: Configurator) -> None:
    """Mount the page and its JSON, and link to it."""
    config.add_child(ISite, "transparency", TransparencyResource)
    config.add_child(ISite, "transparency.json", TransparencyResource)
    config.add_cross_origin(rf"{TRANSPARENCY}\.json")
    config.add_panel("footer", "transparency", footer_link)
    config.add_sitemap("transparency", in_sitemap)
    documentation = documentation_section(
        "modhub_moderation:templates/transparency_documentation.jinja2",
        months=MONTHS,
        least=LEAST,
        few=FEW,
        grounds=[ground.value for ground in Ground],
        decisions={kind.value: DECISIONS[kind.value] for kind in DecisionKind},
    )
    config.add_panel("documentation", "transparency", documentation, order=36)
    config.scan("modhub_moderation.transparency.pages")
