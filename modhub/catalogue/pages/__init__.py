"""The pages of the catalogue: browse, mod pages, feeds, and the workshop."""

from functools import partial
from typing import Any

from markupsafe import Markup
from pyramid.config import Configurator

from modhub.catalogue.pages import author, feeds, mod
from modhub.catalogue.pages.container import register_page_services
from modhub.content import limits
from modhub.plugins.services import IModCards
from modhub.ui.forms import LONG_FIELDS
from modhub.ui.multipart import OVERHEAD
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.web.request import Request


def _workshop_link(_context: Any, request: Request) -> Markup | None:
    return None if PageHelpers(request).account is None else nav_link(request, "/Modhub/mine", "My mods")


def includeme(config: Configurator) -> None:
    """Register the pages, and what they read with."""
    config.action("modhub page services", partial(register_page_services, config.registry), order=1_000)
    config.add_service(IModCards, author.ModCards())
    config.include(feeds)
    config.include(author)
    config.include(mod)
    config.add_panel("personal", "workshop", _workshop_link, order=800)
    config.add_robots_rule(f"/Modhub/*/{mod.PAGE_NAME}")
    config.add_robots_rule("/Modhub/mine")
    # Users who are signed in on pages have a cookie.
    for kind, limit in (("code", limits.CODE), ("css", limits.CSS), ("images", limits.IMAGES)):
        config.add_body_limit("POST", f"/Modhub/mine/{{id}}/{kind}", limit + OVERHEAD, credential="Cookie", waits=True)
    for address in ("new", "{id}", "{id}/captions", "{id}/changelog/{noteId}", "{id}/what-changed"):
        config.add_body_limit("POST", f"/Modhub/mine/{address}", LONG_FIELDS)
    config.scan("modhub.catalogue.pages")
