"""``/.well-known/security.txt`` (RFC 9116): where to report a vulnerability; only with ``modhub.contact``."""

from datetime import timedelta
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response
from zope.interface import implementer

from modhub.db import now
from modhub.plugins.resources import IRoot, IWellKnown
from modhub.web.downloads import A_DAY
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub.web.views import OPEN, page

VALID: Final = timedelta(days=180)
"""The RFC asks for less than a year. It is counted from the day of the request, so that it never lapses."""


@implementer(IWellKnown)
class WellKnownResource(Resource):
    """``/.well-known``"""


@page(context=IWellKnown, name="security.txt", request_method="GET", permission=OPEN)
def security_view(_context: Any, request: Request) -> Response:
    """The contact page, and until when this is valid."""
    base_url = request.registry.settings["modhub.base_url"]
    lines = (
        f"Contact: {base_url}/Modhub/contact",
        f"Expires: {now() + VALID:%Y-%m-%dT00:00:00Z}",
        f"Canonical: {base_url}/.well-known/security.txt",
    )
    response = Response("\n".join((*lines, "")), content_type="text/plain", charset="utf-8")
    response.headers["Cache-Control"] = A_DAY
    return response


def includeme(config: Configurator) -> None:
    """Mount the folder; without a contact page the address is unknown."""
    config.add_child(IRoot, ".well-known", WellKnownResource)
    if config.registry.settings["modhub.contact"] is not None:
        config.scan("modhub.ui.security_txt")
