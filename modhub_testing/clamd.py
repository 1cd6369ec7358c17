"""A program that speaks clamd's ``INSTREAM``, for tests of uploads that are scanned: it finds what it is told to."""

import socketserver
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

RULE = "Modhub.Test.Malware"
_LENGTH = struct.Struct(">I")


class FakeClamd:
    """Finds ``marker`` anywhere in a stream; ``reply`` is said of every stream instead, if it is set.

    ``streams`` has what was sent, whole streams alone. While ``answers`` is not set, nothing is said of them.
    ``close`` ends its threads; ``start`` begins again at the same address.
    """

    def __init__(self, marker: bytes) -> None:
        self.marker = marker
        self.reply: str | None = None
        self.streams: list[bytes] = []
        self.answers = threading.Event()
        self.answers.set()
        self._address = ("127.0.0.1", 0)
        self._server: socketserver.ThreadingTCPServer | None = None
        self._thread: threading.Thread | None = None
        self.start()

    @property
    def url(self) -> str:
        """The value of the setting."""
        return f"clamd://{self._address[0]}:{self._address[1]}"

    def start(self) -> None:
        """Listen."""
        fake = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, struct.error):
                    self.wfile.write(fake.answer(self.rfile).encode() + b"\0")

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = False
            request_queue_size = 64

        self._server = Server(self._address, Handler)
        host, port = self._server.server_address[:2]
        self._address = (str(host), port)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def answer(self, stream: object) -> str:
        """Read one stream and judge it."""
        read = stream.read  # type: ignore[attr-defined]
        if read(10) != b"zINSTREAM\0":
            return "UNKNOWN COMMAND"
        content = b""
        while size := _LENGTH.unpack(read(4))[0]:
            content += read(size)
        self.streams.append(content)
        self.answers.wait()
        if self.reply is not None:
            return self.reply
        return f"stream: {RULE} FOUND" if self.marker in content else "stream: OK"

    def close(self) -> None:
        """Hang up for good, or until ``start``."""
        self.answers.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = self._thread = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
