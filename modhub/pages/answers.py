"""Answers of pages that are not pages."""

import hashlib
from typing import Any

from pyramid.response import Response


class Redirect(Response):
    """A redirect whose ``Location`` stays relative: the request's ``Host`` decides nothing (decisions 1.10)."""

    def __init__(self, location: str, status: int = 303) -> None:
        super().__init__(status=status, headerlist=[("Location", location), ("Content-Length", "0")])

    def _abs_headerlist(self, environ: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - WebOb's hook
        return list(self.headerlist)


def xml_response(document: str | bytes, content_type: str) -> Response:
    """A public XML document that is sent again only when it has changed."""
    body = document.encode() if isinstance(document, str) else document
    response = Response(body, content_type=content_type, charset="utf-8", conditional_response=True)
    response.etag = hashlib.blake2b(body, digest_size=16).hexdigest()
    response.headers["Cache-Control"] = "no-cache"
    return response
