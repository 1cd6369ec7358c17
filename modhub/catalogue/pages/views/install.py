"""``/Modhub/{id}/install``: how to install a mod, for who has no app yet and for who wants none."""

from typing import Any

from modhub.base.errors import not_found
from modhub.catalogue.pages.views.browse import page_reader
from modhub.catalogue.resources import ModResource
from modhub.plugins.resources import IMod
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request
from modhub.web.views import OPEN, page

PAGE_NAME = "install"


@page(
    context=IMod,
    name=PAGE_NAME,
    request_method="GET",
    permission=OPEN,
    renderer="modhub.catalogue:templates/install.jinja2",
)
def install_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}/install``; absent and unpublished mods get the same 404 (C-OWN-9)."""
    shown = page_reader(request).detail(context.id, 1)
    if shown is None:
        raise not_found()
    return {
        "mod": shown.mod.mod,
        "size": shown.mod.size,
        "relations": shown.relations,
        "install_scheme": request.registry.settings["modhub.install_scheme"],
        "app_links": PageHelpers(request).panels("app"),
    }
