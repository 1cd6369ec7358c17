"""Errors of the server itself: requests that no application should see (T-D1, T-D2)."""

import json
import secrets
from http import HTTPStatus

ERROR_CODES = {
    400: "bad_request",
    405: "method_not_allowed",
    408: "request_timeout",
    431: "headers_too_large",
    500: "internal_error",
    501: "not_implemented",
    503: "busy",
    505: "http_version_not_supported",
}
"""The ``error`` for each status that the server sends by itself (C-ERR-1)."""

RETRY_AFTER = "5"

ERROR_HEADERS = (
    ("Content-Type", "application/json; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("X-Content-Type-Options", "nosniff"),
)
"""The headers of every such response (T-H1)."""


class ProtocolError(Exception):
    """A request that gets one response with this status and message, after which the connection closes."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def to_response(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """Status line, headers (with a new request id) and JSON body."""
        headers = [*ERROR_HEADERS, ("X-Request-Id", secrets.token_hex(16))]
        if self.status == 405:
            headers.append(("Allow", "DELETE, GET, HEAD, OPTIONS, POST, PUT"))
        if self.status == 503:
            headers.append(("Retry-After", RETRY_AFTER))
        body = json.dumps({"error": ERROR_CODES[self.status], "message": self.message})
        return f"{self.status} {HTTPStatus(self.status).phrase}", headers, body.encode()


def malformed_request(message: str) -> ProtocolError:
    """400: the framing or a header breaks RFC 9112; ``message`` says which rule."""
    return ProtocolError(400, message)


def request_timeout(message: str) -> ProtocolError:
    """408: the request came too slowly."""
    return ProtocolError(408, message)


def busy_error() -> ProtocolError:
    """503: one peer, or all together, have reached the limit of connections."""
    return ProtocolError(503, "There are too many connections just now. Try again shortly.")


def server_failure() -> ProtocolError:
    """500: an unexpected exception; it is in the log."""
    return ProtocolError(500, "The server met an unexpected error.")
