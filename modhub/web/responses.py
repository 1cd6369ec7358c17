"""Fast responses for anonymous reads: prepared statement, driver connection, ready-made bytes.

No session and no transaction manager: the bodies are copies made at write time. Only for what everybody may see.
"""

from collections.abc import Callable, Iterable
from typing import Final

from pyramid.response import Response

from modhub.base.composed_body import ComposedBody, ContentChanged
from modhub.base.errors import busy
from modhub.web.compression import accepts_gzip
from modhub.web.conditions import compressed_etag
from modhub.web.large_responses import LARGE, file_body, take_large_turn, write_body
from modhub.web.request import Request

_PUBLIC: Final = (("Cross-Origin-Resource-Policy", "cross-origin"), ("Cache-Control", "no-cache"))
"""Where it differs from other responses of the API (:mod:`modhub.web.headers`)."""
MAX_COMPOSITIONS: Final = 10
"""How often a body is composed again because something has changed meanwhile."""


class PublicResponse(Response):
    """A response that is the same for everybody. It gets a strong ``ETag`` and 304 (:mod:`modhub.web.public_reads`).

    Ranges and conditions by date are ignored: it has no date.
    """


def public_json(body: bytes, content_type: str = "application/json") -> PublicResponse:
    """A public response with the bytes of a JSON document."""
    return public_response(body, content_type, _PUBLIC)


def public_response(body: bytes, content_type: str, headers: Iterable[tuple[str, str]]) -> PublicResponse:
    """A public response with these bytes and headers."""
    body_headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Vary", "Accept-Encoding")]
    return PublicResponse(headerlist=[*body_headers, *headers], app_iter=[body])


def composed_json(request: Request, read: Callable[[], ComposedBody | None]) -> Response | None:
    """The response with what ``read`` returns; None if that is None. The answer to a POST has no validator.

    A large body is neither joined in memory nor kept, and not made at all for HEAD or a 304 (T-D20). 503 ``busy`` if
    the server cannot hold so much just now.
    """
    for _ in range(MAX_COMPOSITIONS):
        composed = read()
        if composed is None:
            return None
        try:
            return _respond(request, composed)
        except ContentChanged:
            continue
    raise busy()


def _respond(request: Request, composed: ComposedBody) -> Response:
    request.answers_anybody = not request.is_safe
    headers: list[tuple[str, str]] = [*_PUBLIC] if request.is_safe else []
    headers += [("Link", composed.links)] * bool(composed.links)
    is_large = composed.size > LARGE
    # A smaller one is compressed like all others, by the tween.
    compressed = is_large and accepts_gzip(request.environ.get("HTTP_ACCEPT_ENCODING", ""))
    if request.is_safe:
        headers.append(("ETag", compressed_etag(composed.etag) if compressed else composed.etag))
    if not is_large:
        return public_response(b"".join(composed.parts()), "application/json", headers)
    request.keep_under = None
    headers += [("Content-Type", "application/json"), ("Vary", "Accept-Encoding")]
    headers += [("Content-Encoding", "gzip")] * compressed
    if request.method == "HEAD" or (request.is_safe and request.known_etag(composed.etag)):
        if composed.is_exact and not compressed:  # else its length is not known before it is made (RFC 9110, 9.3.2)
            headers.append(("Content-Length", str(composed.size)))
        return Response(headerlist=headers, app_iter=[])
    take_large_turn(request.environ)
    file, size = write_body(request.environ, composed.parts(), composed.size, compressed=compressed)
    return Response(headerlist=[*headers, ("Content-Length", str(size))], app_iter=file_body(request.environ, file))
