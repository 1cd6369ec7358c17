"""The short way for anonymous reads: a prepared statement, a driver connection, ready-made bytes.

No session and no transaction manager: these answers are copies that were made when something was written. Only what
everybody may see is read this way.
"""

import hashlib
from typing import Final

from pyramid.response import Response

from modhub.http.conditions import names
from modhub.http.headers import API_POLICY, EXPOSED
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
    """A public answer of JSON bytes with a strong ETag; 304 when the caller has it already (RFC 9110, 13.1.2)."""
    return revalidated(request, body, content_type, _PUBLIC)


def revalidated(request: Request, body: bytes, content_type: str, headers: tuple[tuple[str, str], ...]) -> Response:
    """``body`` with a strong ETag and these headers; 304 when the caller has it already.

    Conditions that need a date and ranges are ignored: such an answer has no date, and is never large.
    """
    etag = f'"{hashlib.sha256(body).hexdigest()}"'
    asked = request.environ.get("HTTP_IF_NONE_MATCH")
    if asked is not None and names(asked, etag):
        return Response(status=304, headerlist=[("ETag", etag), *headers], app_iter=())
    own = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("ETag", etag)]
    return Response(headerlist=[*own, *headers], app_iter=[body])
