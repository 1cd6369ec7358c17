"""Ways to a server that can be disturbed, for tests of what a client makes of it."""

import socket
import ssl
from threading import Thread
from typing import Any

PIECE = 65536


class Relay:
    """Takes connections on a loopback port and passes bytes to a server and back; subclasses disturb that."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._port = port
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        """The address of this end."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def is_refused(self) -> bool:
        """Whether a new connection is closed at once."""
        return False

    def request(self, data: bytes, client: socket.socket) -> bytes | None:  # noqa: ARG002 - for subclasses
        """What to send to the server instead of these bytes of a request; None ends the connection."""
        return data

    def answer(self, data: bytes, passed: int) -> tuple[bytes, bool]:  # noqa: ARG002 - for subclasses
        """What to send instead of these bytes of an answer, behind ``passed`` others, and whether it continues."""
        return data, True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            if self._tls is not None:
                # OSError if the client does not trust it.
                client = self._tls.wrap_socket(client, server_side=True)
            with client:
                if not self.is_refused():
                    self._pass_requests(client)
        except OSError:
            return

    def _pass_requests(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            Thread(target=self._pass_answers, args=(server, client), daemon=True).start()
            while data := client.recv(PIECE):
                sent = self.request(data, client)
                if sent is None:
                    break
                server.sendall(sent)
            server.shutdown(socket.SHUT_RDWR)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        passed, goes_on = 0, True
        try:
            while goes_on and (data := server.recv(PIECE)):
                sent, goes_on = self.answer(data, passed)
                passed += len(data)
                client.sendall(sent)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


class Line(Relay):
    """A way to an object store; the signature covers the host's name, which goes through as it was sent.

    ``fault`` is what it does: None; ``"refuse"`` closes each connection, ``"silent"`` never answers, a number answers
    with that status, ``("cut", n)`` ends after n bytes of an answer, ``("flip", marker)`` changes a byte behind each
    ``marker`` in either direction, ``"lose"`` lets requests through and loses the answers.
    ``passed`` counts the bytes of answers. With ``tls`` clients speak TLS to it.
    """

    fault: Any = None
    passed = 0

    def is_refused(self) -> bool:
        """Whether the fault is ``"refuse"``."""
        return bool(self.fault == "refuse")

    def request(self, data: bytes, client: socket.socket) -> bytes | None:
        """The bytes, perhaps damaged; none while silent."""
        if self.fault == "silent":
            return b""
        if self.fault == "refuse":
            return None
        if isinstance(self.fault, int):
            head = f"HTTP/1.1 {self.fault} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            client.sendall(head.encode())
            return None
        return self._changed(data)

    def answer(self, data: bytes, passed: int) -> tuple[bytes, bool]:
        """The bytes, perhaps damaged, cut or lost."""
        fault = self.fault
        if fault == "lose":
            return b"", False
        if isinstance(fault, tuple) and fault[0] == "cut" and passed + len(data) > fault[1]:
            return data[: max(fault[1] - passed, 0)], False
        self.passed += len(data)
        return self._changed(data), True

    def _changed(self, data: bytes) -> bytes:
        if isinstance(self.fault, tuple) and self.fault[0] == "flip":
            return data.replace(self.fault[1], self.fault[1][:-1] + b"#")
        return data
