"""Advisories: what is known about files, told to those who have them."""

from pyramid.config import Configurator

from modhub.plugins.resources import ICatalogue, ISite
from modhub.ui.documentation import documentation_section
from modhub_moderation.advisories.resources import AdvisoriesPageResource, AdvisoriesResource


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    config.add_child(ICatalogue, "advisories", AdvisoriesResource)
    config.add_child(ISite, "advisories", AdvisoriesPageResource)
    documentation = documentation_section("modhub_moderation:templates/advisories/documentation.jinja2")
    config.add_panel("documentation", "advisories", documentation, order=35)
    config.include("modhub_moderation.advisories.commands")
    config.include("modhub_moderation.advisories.pages")
    config.scan("modhub_moderation.advisories.views")
