"""What the server writes: the application's responses and its own."""

from typing import Any, Final

from waitress.task import ErrorTask, WSGITask
from waitress.utilities import build_http_date

from modhub.base.body_rules import RESERVE_RESPONSE
from modhub.base.metrics import LIMITS_HIT
from modhub.server.protocol_errors import ProtocolError, server_failure

JOINED_BYTES = 65536
LIMIT_NAMES: Final = {408: "request_time", 431: "head_bytes", 503: "connections"}
"""The limit that each status of a :class:`ProtocolError` stands for, in metrics."""


class _ResponseHeadMixin:
    """The head of a response, written by our own rules."""

    channel: Any
    request: Any
    status: str
    version: str
    start_time: float
    content_length: int | None
    response_headers: list[tuple[str, str]]
    close_on_finish: bool
    chunked_response: bool
    wrote_header: bool

    def set_close_on_finish(self) -> None:
        """Close after this response; the head says so if it is not written yet."""
        self.close_on_finish = True

    def build_response_header(self) -> bytes:
        """The head of the response. Unlike waitress's it keeps the connection after 204, 304 and a chunked body."""
        length = None if self.content_length is None else str(self.content_length)
        has_date = False
        lines = [f"HTTP/{self.version} {self.status}"]
        for name, value in self.response_headers:
            lowered = name.lower()
            if lowered == "content-length":
                length = value
            else:
                has_date = has_date or lowered == "date"
                lines.append(f"{name}: {value}")
        if not has_date:
            lines.append(f"Date: {build_http_date(self.start_time)}")
        return "\r\n".join([*lines, *self._framing(length), "", ""]).encode("latin-1")

    def _framing(self, length: str | None) -> list[str]:
        """Content-Length or Transfer-Encoding, and Connection (RFC 9112, 6 and 9)."""
        lines: list[str] = []
        if length is not None:
            if not self.status.startswith(("1", "204")):
                lines.append(f"Content-Length: {length}")
        elif not self.status.startswith(("1", "204", "304")) and self.request.command != "HEAD":
            self.chunked_response = self.version == "1.1"
            self.close_on_finish = self.close_on_finish or not self.chunked_response
            lines += ["Transfer-Encoding: chunked"] * self.chunked_response
        if self.close_on_finish or self._is_last():
            self.close_on_finish = True
            return [*lines, "Connection: close"]
        return [*lines, "Connection: Keep-Alive"] if self.version == "1.0" else lines

    def _is_last(self) -> bool:
        """Whether the connection closes after this response.

        A 413 always closes it, and so does a 401 at an address whose body may be left unread: the response must not
        reveal whether the body was read (C-ERR-6: an absent and a bad credential get the same response).
        """
        request = self.request
        rejected = self.status.startswith("413") or (request.credential is not None and self.status.startswith("401"))
        return bool(request.final or request.connection_close or rejected or self.channel.server.draining)


class AppTask(_ResponseHeadMixin, WSGITask):
    """A response of the application."""

    def service(self) -> None:
        """Run the application. With ``log_socket_errors = false`` waitress's would take any OSError of the application
        for a client that is gone, and close the connection without a response."""
        self.start()
        self.execute()
        self.finish()

    def get_environment(self) -> dict[str, Any]:
        """waitress's environ, with the notes of the parser.

        The input is a seekable BytesIO or temporary file, and WebOb is told so: otherwise pyramid_retry copies it.
        """
        environ: dict[str, Any] = super().get_environment()
        environ["SERVER_SOFTWARE"] = self.channel.adj.ident or "modhub"
        environ["webob.is_body_seekable"] = environ["wsgi.input"].seekable()
        environ.update(self.request.notes)
        environ[RESERVE_RESPONSE] = self.channel.reserve_response
        return environ

    def write(self, data: bytes) -> None:
        """Write part of the body; for HEAD, only the head.

        A small first chunk goes out together with the head: one system call, one packet.
        """
        if self.status.startswith("100"):
            self.channel.restart_body_deadline()  # for a `Parser.expect_probe`
            return
        if self.request.command == "HEAD":
            data = b""
        if data and len(data) <= JOINED_BYTES and self.complete and not self.wrote_header:
            self.channel.prefix = self.build_response_header()
            self.wrote_header = True
            super().write(data)
            self.channel.write_soon(b"")
        else:
            super().write(data)


class ProtocolErrorTask(_ResponseHeadMixin, ErrorTask):
    """A response of the server's own: JSON, then the connection closes."""

    def execute(self) -> None:
        """Write the request's `ProtocolError`; any other error (waitress's own 500) is unexpected."""
        error = self.request.error
        protocol_error = error if isinstance(error, ProtocolError) else server_failure()
        if protocol_error.status in LIMIT_NAMES:
            LIMITS_HIT.labels(LIMIT_NAMES[protocol_error.status]).inc()
        self.status, headers, body = protocol_error.to_response()
        self.response_headers += [*headers, *self.channel.adj.error_headers]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(b"" if self.request.command == "HEAD" else body)
