"""Answers of pages that are not pages."""

from typing import Any

from pyramid.response import Response

from modhub.request import Request
from modhub.responses import revalidated


class Redirect(Response):
    """A redirect whose ``Location`` stays relative: the request's ``Host`` decides nothing (C-HTTP-6)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)


def xml_response(request: Request, document: str | bytes, content_type: str) -> Response:
    """A public XML document that is sent again only when it has changed.

    Not by WebOb's ``conditional_response``: it reads dates and ranges behind all tweens, where the unreadable ones
    raise.
    """
    body = document.encode() if isinstance(document, str) else document
    return revalidated(request, body, f"{content_type}; charset=utf-8", (("Cache-Control", "no-cache"),))
