"""Responses of page views that are not HTML: redirects, with the way back, and XML documents."""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from pyramid.response import Response

from modhub.web.responses import PublicResponse, public_response

_PATH: Final = re.compile(r"/(?!/)[\x21-\x5b\x5d-\x7e]*")
_HOME: Final = "/Modhub"
_NOT_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Redirect(Response):
    """A redirect with a relative ``Location``, independent of the request's ``Host`` (C-HTTP-6)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)


def previous_page(request: Any) -> str:
    """The path of the page whose form this is, by ``Referer``; never another site's, since only the path is read."""
    try:
        address = urlsplit(request.environ.get("HTTP_REFERER", ""))
    except ValueError:
        return _HOME
    path = f"{address.path}?{address.query}" if address.query else address.path
    is_own = _PATH.fullmatch(path) and address.path.rstrip("/") != request.environ.get("PATH_INFO", "").rstrip("/")
    return path if is_own else _HOME


def xml_response(document: str, content_type: str) -> PublicResponse:
    """Return a public XML document; without what XML 1.0 does not allow."""
    body = _NOT_XML.sub("", document.lstrip()).encode()
    return public_response(body, f"{content_type}; charset=utf-8", (("Cache-Control", "no-cache"),))
