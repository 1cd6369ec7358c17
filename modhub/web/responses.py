"""Fast responses for anonymous reads: prepared statement, driver connection, ready-made bytes.

No session and no transaction manager: the bodies are copies made at write time. Only for what everybody may see.
"""

from collections.abc import Callable
from typing import Final

from pyramid.response import Response

from modhub.base.composed_body import ComposedBody, ContentChanged
from modhub.base.errors import busy
from modhub.web.compression import accepts_gzip
from modhub.web.conditions import compressed_etag
from modhub.web.large_responses import LARGE, file_body, take_large_turn, write_body
from modhub.web.request import Request

Headers = tuple[tuple[str, str], ...]
_PUBLIC: Final[Headers] = (("Cross-Origin-Resource-Policy", "cross-origin"), ("Cache-Control", "no-cache"))
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


def public_response(body: bytes, content_type: str, headers: Headers) -> PublicResponse:
    """A public response with these bytes and headers."""
    body_headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Vary", "Accept-Encoding")]
    return PublicResponse(headerlist=[*body_headers, *headers], app_iter=[body])


def composed_json(request: Request, read: Callable[[], ComposedBody | None]) -> Response | None:
    """The response to a GET or HEAD with what ``read`` returns; None if that is None.

    A large body is neither joined in memory nor kept, and not made at all for HEAD or a 304 (T-D20). 503 ``busy`` if
    the server cannot hold so much just now.
    """
    return _composed(read, lambda composed: _public_composed(request, composed))


def composed_answer(request: Request, read: Callable[[], ComposedBody]) -> Response:
    """The same as the answer to a question by POST, without a validator."""
    request.answers_anybody = True
    response = _composed(read, lambda composed: _composed_answer(request, composed))
    assert response is not None
    return response


def _composed_answer(request: Request, composed: ComposedBody) -> Response:
    headers = [("Content-Type", "application/json"), ("Vary", "Accept-Encoding")]
    # A smaller one is compressed like all others, by the tween.
    compressed = composed.size > LARGE and accepts_gzip(request.environ.get("HTTP_ACCEPT_ENCODING", ""))
    headers += [("Content-Encoding", "gzip")] * compressed
    return _with_body(request, composed, headers, compressed=compressed)


def _composed(read: Callable[[], ComposedBody | None], respond: Callable[[ComposedBody], Response]) -> Response | None:
    for _ in range(MAX_COMPOSITIONS):
        composed = read()
        if composed is None:
            return None
        try:
            return respond(composed)
        except ContentChanged:
            continue
    raise busy()


def _public_composed(request: Request, composed: ComposedBody) -> Response:
    etag, links = composed.etag, _PUBLIC
    if composed.links:
        links += (("Link", composed.links),)
    if composed.size <= LARGE:
        return public_response(b"".join(composed.parts()), "application/json", (*links, ("ETag", etag)))
    request.keep_under = None
    compressed = accepts_gzip(request.environ.get("HTTP_ACCEPT_ENCODING", ""))
    headers = [("Content-Type", "application/json"), ("Vary", "Accept-Encoding"), *links]
    headers += [("Content-Encoding", "gzip"), ("ETag", compressed_etag(etag))] if compressed else [("ETag", etag)]
    if request.method != "HEAD" and not request.known_etag(etag):
        return _with_body(request, composed, headers, compressed=compressed)
    if composed.is_exact and not compressed:  # else its length is not known before it is made (RFC 9110, 9.3.2)
        headers += [("Content-Length", str(composed.size))]
    return Response(headerlist=headers, app_iter=[])


def _with_body(
    request: Request, composed: ComposedBody, headers: list[tuple[str, str]], *, compressed: bool
) -> Response:
    if composed.size <= LARGE:
        body = b"".join(composed.parts())
        return Response(headerlist=[*headers, ("Content-Length", str(len(body)))], app_iter=[body])
    take_large_turn(request.environ)
    file, size = write_body(request, composed.parts(), composed.size, compressed=compressed)
    return Response(headerlist=[*headers, ("Content-Length", str(size))], app_iter=file_body(request.environ, file))
