"""Fast responses for anonymous reads: prepared statement, driver connection, ready-made bytes.

No session and no transaction manager: the bodies are copies made at write time. Only for what everybody may see.
"""

from typing import Final

from pyramid.response import Response

from modhub.http.headers import API_POLICY, EXPOSED

_PUBLIC: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Content-Security-Policy", API_POLICY),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", EXPOSED),
    ("Cache-Control", "no-cache"),
)


class PublicResponse(Response):
    """A response that is the same for everybody. It gets a strong ``ETag`` and 304 (:mod:`modhub.http.public_reads`).

    Ranges and conditions by date are ignored: it has no date and is never large.
    """


def public_json(body: bytes, content_type: str = "application/json", *, links: str = "") -> PublicResponse:
    """A public response with the bytes of a JSON document; ``links`` is its ``Link`` header (RFC 8288)."""
    return public_response(body, content_type, (*_PUBLIC, ("Link", links)) if links else _PUBLIC)


def public_response(body: bytes, content_type: str, headers: tuple[tuple[str, str], ...]) -> PublicResponse:
    """A public response with these bytes and headers."""
    body_headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Vary", "Accept-Encoding")]
    return PublicResponse(headerlist=[*body_headers, *headers], app_iter=[body])
