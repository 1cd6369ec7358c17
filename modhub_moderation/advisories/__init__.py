"""Advisories: what is known about files, told to those who have them."""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.resources import ICatalogue, ISite
from modhub.ui.documentation import documentation_section
from modhub_moderation.advisories.read_service import AdvisoryReader
from modhub_moderation.advisories.resources import AdvisoriesPageResource, AdvisoriesResource


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    databases = find_service(config.registry, Databases)
    config.add_service(AdvisoryReader, AdvisoryReader(databases.raw_queries))
    config.add_child(ICatalogue, "advisories", AdvisoriesResource)
    config.add_child(ISite, "advisories", AdvisoriesPageResource)
    documentation = documentation_section("modhub_moderation:templates/advisories/documentation.jinja2")
    config.add_panel("documentation", "advisories", documentation, order=35)
    config.include("modhub_moderation.advisories.commands")
    config.include("modhub_moderation.advisories.pages")
    config.scan("modhub_moderation.advisories.views")
