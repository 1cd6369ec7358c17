"""Responses of page views that are not HTML: redirects and XML documents."""

from typing import Any

from pyramid.response import Response

from modhub.http.responses import PublicResponse, public_response


class Redirect(Response):
    """A redirect with a relative ``Location``, independent of the request's ``Host`` (C-HTTP-6)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)


def xml_response(document: str | bytes, content_type: str) -> PublicResponse:
    """Return a public XML document."""
    body = document.encode() if isinstance(document, str) else document
    return public_response(body, f"{content_type}; charset=utf-8", (("Cache-Control", "no-cache"),))
