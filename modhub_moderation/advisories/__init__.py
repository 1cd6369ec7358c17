"""Advisories: what is known about files, told to those who have them."""

from pyramid.config import Configurator

from modhub.plugins.resources import ICatalogue, ISite
from modhub_moderation.advisories.resources import AdvisoriesPageResource, AdvisoriesResource


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    config.add_child(ICatalogue, "advisories", AdvisoriesResource)
    config.add_child(ISite, "advisories", AdvisoriesPageResource)
    config.include("modhub_moderation.advisories.commands")
    config.include("modhub_moderation.advisories.pages")
    config.scan("modhub_moderation.advisories.views")
