"""The pages of the catalogue: browse, mod pages, feeds, and the workshop."""

from functools import partial
from typing import Any

from markupsafe import Markup
from pyramid.config import Configurator

from modhub.base.service_registry import find_optional_service, find_service
from modhub.catalogue.pages import author, feeds, mod
from modhub.catalogue.pages.groups import GroupReader
from modhub.catalogue.pages.reader import PageReader
from modhub.catalogue.reading.chain_archives import ArchiveTurns
from modhub.catalogue.reading.service import CatalogueReader
from modhub.content import limits
from modhub.plugins.services import IModCards, IProfiles
from modhub.ui.forms import LONG_FIELDS
from modhub.ui.multipart import OVERHEAD
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.web.request import Request


def _workshop_link(_context: Any, request: Request) -> Markup | None:
    return None if PageHelpers(request).account is None else nav_link(request, "/Modhub/mine", "My mods")


def _register_readers(registry: Any) -> None:
    """After all features: they declare figures, and one of them may have the names of authors."""
    catalogue, profiles = find_service(registry, CatalogueReader), find_optional_service(registry, IProfiles)
    registry[PageReader] = PageReader(catalogue)
    registry[GroupReader] = GroupReader(catalogue, None if profiles is None else profiles.columns)


def includeme(config: Configurator) -> None:
    """Register the pages, and what they read with."""
    config.action("modhub page readers", partial(_register_readers, config.registry), order=1_000)
    config.add_service(ArchiveTurns, ArchiveTurns())
    config.add_service(IModCards, author.ModCards())
    config.include(feeds)
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
