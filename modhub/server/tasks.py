"""What the server writes: the application's responses and its own."""

import json
import secrets
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.proxy_headers import PROXY_HEADERS
from waitress.task import ErrorTask, WSGITask

from modhub.base.body_rules import IS_LARGE_TURN, NOT_FORWARDED
from modhub.base.metrics import LIMITS_HIT

JOINED_BYTES: Final = 65536
_FORWARDING: Final = PROXY_HEADERS | {"VIA", "X_REAL_IP", "X_CLIENT_IP", "TRUE_CLIENT_IP", "CF_CONNECTING_IP"}
ERRORS: Final = {
    400: ("bad_request", "The request is malformed."),
    408: ("request_timeout", "The request came too slowly."),
    431: ("headers_too_large", "The request head is too long."),
    500: ("internal_error", "The server met an unexpected error."),
    501: ("not_implemented", "The server does not implement this."),
}
"""The code and the sentence of each error that the server sends by itself (C-ERR-1)."""
_LIMIT_NAMES: Final = {408: "request_time", 431: "head_bytes"}
_HEADERS: Final = (
    ("Content-Type", "application/json; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("X-Content-Type-Options", "nosniff"),
)


def caller_address(entry: str) -> str:
    """An address of ``X-Forwarded-For`` without its port, IPv6 in brackets; ``unknown`` if it is none (RFC 7239, 6.2).

    waitress takes ``::ffff:192.0.2.1`` for a host with a port: all callers of a dual-stack proxy would be one.
    """
    host = entry.strip().strip('"').strip()
    for candidate in (host, host.rpartition(":")[0].strip("[]"), host.strip("[]")):
        try:
            address = ip_address(candidate)
        except ValueError:
            continue
        mapped = getattr(address, "ipv4_mapped", None)
        return str(mapped) if mapped else f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    return "unknown"


class SentFile(ReadOnlyFileBasedBuffer):
    """``wsgi.file_wrapper``: a file that has become shorter ends the connection, instead of being asked for ever."""

    def get(self, numbytes: int = -1, skip: bool = False) -> bytes:
        """As waitress's. OSError at an end that comes too early."""
        data: bytes = super().get(numbytes, skip)
        if not data and self.remain:
            raise OSError("a file that was being sent has become shorter")
        return data


class AppTask(WSGITask):
    """A response of the application."""

    wrote_header: bool
    content_bytes_written: int

    def get_environment(self) -> dict[str, Any]:
        """waitress's environ, with the notes of the request, and only what a trusted proxy added to its headers."""
        request, adj = self.request, self.channel.adj
        environ: dict[str, Any] = super().get_environment()
        environ["SERVER_SOFTWARE"] = adj.ident or "modhub"
        environ["wsgi.file_wrapper"] = SentFile
        environ["wsgi.input"].seek(0)
        environ["webob.is_body_seekable"] = True  # else pyramid_retry copies it
        environ[NOT_FORWARDED] = _FORWARDING.isdisjoint(request.headers)
        if "HTTP_X_FORWARDED_FOR" in environ and adj.trusted_proxy in {"*", environ["REMOTE_ADDR"]}:
            entries = environ["HTTP_X_FORWARDED_FOR"].rsplit(",", adj.trusted_proxy_count)[-adj.trusted_proxy_count :]
            environ["HTTP_X_FORWARDED_FOR"] = ",".join(map(caller_address, entries))
        environ[IS_LARGE_TURN] = request.is_large
        environ.update(request.notes)
        return environ

    @property
    def _is_last(self) -> bool:
        """Whether the connection closes after this response.

        A 413 always closes it, and so does a 401 at an address whose body may be left unread: the response must not
        reveal whether the body was read (C-ERR-6: an absent and a bad credential get the same response).
        """
        request = self.request
        rejected = self.status.startswith("413") or (request.credential is not None and self.status.startswith("401"))
        return bool(request.final or request.connection_close or rejected or self.channel.server.draining)

    def set_close_on_finish(self) -> None:
        """Unlike waitress, keep the connection after 204 and 304."""
        if self.wrote_header or self.has_body or self._is_last:
            super().set_close_on_finish()

    def build_response_header(self) -> bytes:
        """The head of the response."""
        if self._is_last:
            self.set_close_on_finish()
            self.channel.linger(is_early=self.request.final)
        head: bytes = super().build_response_header()
        return head

    def write(self, data: bytes) -> None:
        """Write a part of the response.

        100 says that the application wants the body, 102 that it wants to run in the thread of large responses.
        """
        if self.status.startswith("100"):
            self.channel.read_body()
        elif self.status.startswith("102"):
            self.channel.run_again()
        elif self.complete and not self.wrote_header and 0 < len(data) == self.content_length <= JOINED_BYTES:
            # With the head: one system call, one packet.
            head = self.build_response_header()
            self.wrote_header, self.content_bytes_written = True, len(data)
            self.channel.write_soon(head if self.request.command == "HEAD" or not self.has_body else head + data)
        else:
            super().write(b"" if self.request.command == "HEAD" else data)


class ProtocolErrorTask(ErrorTask):
    """A response of the server's own: JSON (C-ERR-3), then the connection closes."""

    def execute(self) -> None:
        """Write the error of the request. Of waitress's messages, which repeat what was sent, none is used."""
        error = self.request.error
        code, message = ERRORS[error.code]
        if error.body.endswith("."):
            message = error.body
        if error.code in _LIMIT_NAMES:
            LIMITS_HIT.labels(_LIMIT_NAMES[error.code]).inc()
        self.status = f"{error.code} {error.reason}"
        rules = self.channel.adj.rules
        self.response_headers += [*_HEADERS, ("X-Request-Id", secrets.token_hex(16))]
        self.response_headers += () if rules is None else rules.error_headers
        body = json.dumps({"error": code, "message": message}).encode()
        self.set_close_on_finish()
        self.channel.linger(is_early=True)
        self.content_length = len(body)
        self.write(b"" if self.channel.requests[0].command == "HEAD" else body)
