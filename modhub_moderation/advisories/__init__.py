"""Advisories: what is known about files, told to those who have them."""

import re

from pyramid.config import Configurator

from modhub.plugins.resources import ICatalogue, ISite
from modhub_moderation.advisories import views


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    config.add_child(ICatalogue, "advisories", views.AdvisoriesResource)
    config.add_child(ISite, "advisories", views.AdvisoriesPageResource)
    config.include("modhub_moderation.advisories.commands")
    config.add_panel("notice", "advisories", views.advised_notice, order=10)
    config.add_panel("footer", "advisories", views.advisories_link, order=60)
    config.add_sitemap("advisories", views.advisories_in_sitemap)
    for feed in (views.FEED_PATH, views.JSON_FEED_PATH):
        config.add_cross_origin(re.escape(feed))
    config.scan("modhub_moderation.advisories.views")
