"""Views at the root for browsers and robots."""

from typing import Any

from pyramid.response import Response

from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import IRoot
from modhub.ui.static_files import StaticFiles, static_response
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import A_DAY
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.views import OPEN, page

THEME_COLOR = "#0d3336"
"""The color of the head of every page, as ``--head`` in style.css."""
BACKGROUND_COLOR = "#f4f2ec"


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
@page(context=IRoot, name="apple-touch-icon.png", request_method="GET", permission=OPEN)
def icon_view(_context: Any, request: Request) -> Response:
    """An icon at its default path, for clients that do not read ``<link rel="icon">``, and for home screens."""
    return static_response(request.find_service(StaticFiles).by_asset[f"modhub:{request.view_name}"], A_DAY)


@page(context=IRoot, name="manifest.webmanifest", request_method="GET", permission=OPEN)
def manifest_view(_context: Any, request: Request) -> Response:
    """The manifest for browsers that keep the site like an app (W3C Web Application Manifest)."""
    address = request.find_service(StaticFiles).address
    icons = [
        {"src": address("modhub:icon.svg"), "type": "image/svg+xml", "sizes": "any"},
        {"src": address("modhub:icon-512.png"), "type": "image/png", "sizes": "512x512"},
    ]
    manifest = {
        "name": request.registry.settings["modhub.site_name"],
        "start_url": "/Modhub",
        "scope": "/",
        "display": "browser",
        "theme_color": THEME_COLOR,
        "background_color": BACKGROUND_COLOR,
        "icons": icons,
    }
    response = Response(encode(manifest), content_type="application/manifest+json", charset=None)
    response.headers["Cache-Control"] = A_DAY
    return response


@page(context=IRoot, name="modhub", request_method="GET", permission=OPEN)
def redirect_lower_case_site(_context: Any, _request: Request) -> Response:
    """Redirect ``/modhub``, as people type it, to ``/Modhub``."""
    return Redirect("/Modhub", 301)
