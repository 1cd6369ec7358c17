"""Fast responses for anonymous reads: prepared statement, driver connection, ready-made bytes.

No session and no transaction manager: the bodies are copies made at write time. Only for what everybody may see.
"""

import hashlib
from typing import Final

from pyramid.response import Response

from modhub.http.compression import compressed_etag
from modhub.http.conditions import if_none_match_names
from modhub.http.headers import API_POLICY, EXPOSED, headers_of_304
from modhub.request import Request

_PUBLIC: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Content-Security-Policy", API_POLICY),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", EXPOSED),
    ("Cache-Control", "no-cache"),
)


def cached_json_response(request: Request, body: bytes, content_type: str = "application/json") -> Response:
    """A public response with JSON bytes and a strong ETag; 304 if the caller has it already (RFC 9110, 13.1.2)."""
    return revalidated(request, body, content_type, _PUBLIC)


def linked_json_response(request: Request, body: bytes, links: str) -> Response:
    """As :func:`cached_json_response`, with a ``Link`` header (RFC 8288) unless it is empty."""
    response = cached_json_response(request, body)
    if links and response.status_int == 200:
        response.headerlist.append(("Link", links))
    return response


def revalidated(request: Request, body: bytes, content_type: str, headers: tuple[tuple[str, str], ...]) -> Response:
    """``body`` with a strong ETag and these headers; 304 if the caller has it already.

    Ranges and conditions by date are ignored: such a response has no date and is never large.
    """
    etag = f'"{hashlib.sha256(body).hexdigest()}"'
    headers = (*headers, ("Vary", "Accept-Encoding"))
    if_none_match = request.environ.get("HTTP_IF_NONE_MATCH")
    if if_none_match is not None:
        # Whatever this caller accepts, what it has is the same in either coding.
        for known in (etag, compressed_etag(etag)):
            if if_none_match_names(if_none_match, known):
                return Response(status=304, headerlist=headers_of_304(headers, known), app_iter=())
    body_headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("ETag", etag)]
    return Response(headerlist=[*body_headers, *headers], app_iter=[body])
