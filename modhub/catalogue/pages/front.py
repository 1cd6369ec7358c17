"""The front is ``/Modhub`` without a query: what it shows, and what it begins with."""

from typing import Final

from markupsafe import Markup

from modhub.catalogue.pages.cards import Front
from modhub.catalogue.pages.container import PageServices
from modhub.ui.preferences import shows_steps
from modhub.ui.site_settings import FRONT_ASSET
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request

_FRONT: Final = "modhub.front"
HEAD_TEMPLATE: Final = "modhub.catalogue:templates/front_head.jinja2"


def is_front(request: Request) -> bool:
    """Whether the page is the front: any query is a list alone."""
    return not request.environ.get("QUERY_STRING")


def read_front(request: Request) -> Front:
    """Return what the front shows, which each request reads once."""
    environ = request.environ
    if _FRONT not in environ:
        environ[_FRONT] = request.find_service(PageServices).pages.front()
    front: Front = environ[_FRONT]
    return front


def render_head(request: Request) -> Markup:
    """Return the operator's picture and text, and the first steps for visitors who have not put them away."""
    ui, settings = PageHelpers(request), request.registry.settings
    is_visitor = ui.account is None
    return ui.cached_fragment(
        HEAD_TEMPLATE,
        picture=ui.site_file(FRONT_ASSET),
        text=settings["modhub.front_text"] or (settings["modhub.welcome"] if is_visitor else None),
        is_visitor=is_visitor,
        has_steps=is_visitor and shows_steps(request),
        links=tuple(ui.panels("app")) if is_visitor else (),
    )
