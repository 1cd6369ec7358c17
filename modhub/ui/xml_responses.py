"""Responses of page views that are not HTML: redirects and XML documents."""

from typing import Any

from pyramid.response import Response

from modhub.request import Request
from modhub.responses import revalidated


class Redirect(Response):
    """A redirect with a relative ``Location``, independent of the request's ``Host`` (C-HTTP-6)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)


def xml_response(request: Request, document: str | bytes, content_type: str) -> Response:
    """Return a public XML document with an ``ETag``; 304 if it has not changed.

    WebOb's ``conditional_response`` is not used: it parses dates and ranges outside the tweens, where invalid ones
    raise.
    """
    body = document.encode() if isinstance(document, str) else document
    return revalidated(request, body, f"{content_type}; charset=utf-8", (("Cache-Control", "no-cache"),))
