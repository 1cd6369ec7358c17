"""Views at the root for browsers and robots."""

from typing import Any

from pyramid.response import Response

from modhub.declarations import Declarations
from modhub.downloads import A_DAY
from modhub.interfaces import IRoot
from modhub.request import Request
from modhub.ui.static_files import StaticFiles, static_response
from modhub.ui.xml_responses import Redirect
from modhub.views import OPEN, page


@page(context=IRoot, request_method="GET", permission=OPEN)
def home_view(_context: Any, _request: Request) -> Response:
    """Redirect ``/`` to ``/Modhub`` (C-PAGE-1)."""
    return Redirect("/Modhub", 302)


@page(context=IRoot, name="robots.txt", request_method="GET", permission=OPEN)
def robots_view(_context: Any, request: Request) -> Response:
    """``robots.txt`` (RFC 9309) with the rules of ``config.add_robots_rule``."""
    rules = "".join(f"Disallow: {path}\n" for path in request.find_service(Declarations).robots)
    sitemap = request.registry.settings["modhub.base_url"] + "/sitemap.xml"
    response = Response(f"User-agent: *\n{rules}\nSitemap: {sitemap}\n", content_type="text/plain", charset="utf-8")
    response.headers["Cache-Control"] = A_DAY
    return response


@page(context=IRoot, name="favicon.ico", request_method="GET", permission=OPEN)
def favicon_view(_context: Any, request: Request) -> Response:
    """The icon at its default path, for clients that do not read ``<link rel="icon">``."""
    return static_response(request.find_service(StaticFiles).by_asset["modhub:favicon.ico"], A_DAY)
