"""A running server for tests, and a client that may send anything."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from modhub.server import channel, loop
from modhub.server.loop import Server


@dataclass(frozen=True)
class RawResponse:
    """One HTTP response as it arrived: status, fields by lower-case name, body."""

    status: int
    fields: dict[str, str]
    body: bytes


@contextmanager
def running(app: Any, **settings: Any) -> Iterator[Server]:
    """Serve ``app`` on a free loopback port in a separate thread; deadlines are checked ten times a second.

    A setting of None removes this function's default.
    """
    defaults = {"listen": "127.0.0.1:0", "cleanup_interval": 0.1, "asyncore_loop_timeout": 0.1, "drain_seconds": 5}
    effective = {key: value for key, value in {**defaults, **settings}.items() if value is not None}
    server = Server(app, **effective)
    thread = threading.Thread(target=server.run, name="serving")
    thread.start()
    try:
        yield server
    finally:
        with patch.object(loop, "SETTLE_SECONDS", -1.0):  # nobody has just connected
            server.stop()
            thread.join(30)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve ``app`` like :func:`running`; its address."""
    with running(app) as server:
        yield "http://{}:{}".format(*server.addresses[0])


class Clock:
    """The clock of a test's servers, which the test advances: deadlines of minutes expire only then."""

    def __init__(self, monkeypatch: Any) -> None:
        self._ahead = 0.0
        for module in (loop, channel):
            monkeypatch.setattr(module, "monotonic", self)

    def __call__(self) -> float:
        """The time as the server sees it."""
        return time.monotonic() + self._ahead

    def forward(self, seconds: float) -> None:
        """Advance by ``seconds``."""
        self._ahead += seconds


def wait_until_checked(service: Server) -> None:
    """Wait until ``service`` has read what was sent before, and has checked every deadline after that."""
    for _ in range(2):
        before = service.checked_at
        while service.checked_at == before:
            time.sleep(0.01)


def raw_request(path: str = "/", method: str = "GET") -> bytes:
    """A whole request without a body."""
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


class RawClient:
    """A connection to ``service`` over a raw socket; ``buffer`` limits what the kernel accepts for a slow reader."""

    def __init__(self, service: Server, timeout: float = 20, buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(service.addresses[0])
        except OSError:
            self.socket.close()
            raise
        self.stream = self.socket.makefile("rb")

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send it all."""
        self.socket.sendall(data)

    def answer(self, method: str = "GET") -> RawResponse:
        """Read one response, interim ones included; EOFError if the connection ended; ValueError for anything else."""
        line = self.stream.readline()
        if not line:
            raise EOFError
        if not line.startswith(b"HTTP/1."):
            raise ValueError(f"no status line: {line!r}")
        status, fields = int(line.split()[1]), {}
        while (line := self.stream.readline().rstrip(b"\r\n")) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        return RawResponse(status, fields, self._body(method, status, fields))

    def _body(self, method: str, status: int, fields: dict[str, str]) -> bytes:
        if method == "HEAD" or status < 200 or status in (204, 304):
            return b""
        if "content-length" in fields:
            return self.stream.read(int(fields["content-length"]))
        if fields.get("transfer-encoding") != "chunked":
            return self.stream.read()
        body = b""
        while size := int(self.stream.readline(), 16):
            body += self.stream.read(size)
            self.stream.readline()
        self.stream.readline()
        return body

    def ended(self) -> bool:
        """Whether the server closes the connection without another byte (waits for it)."""
        return self.stream.read(1) == b""

    def ask(self, data: bytes, method: str = "GET") -> RawResponse:
        """Send, then read one response."""
        self.send(data)
        return self.answer(method)
