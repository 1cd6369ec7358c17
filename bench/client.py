"""A minimal HTTP client over one persistent connection, cheap enough that the server dominates the measurement."""

import socket
from dataclasses import dataclass, field

RECEIVE = 1 << 20


@dataclass
class Client:
    """One connection to a server on loopback."""

    port: int
    buffer: bytearray = field(default_factory=lambda: bytearray(RECEIVE))

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def send(self, method: str, path: str, headers: tuple[str, ...] = (), body: bytes = b"") -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: bench", *headers]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def receive(self, keep_body: bool = False) -> tuple[int, int, bytes]:
        """(status, length of the body, head and body). The body is empty without ``keep_body``."""
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the server closed the connection")
            head += data
        head, _, body = head.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if status == 304:
            length = 0
        chunks = [body] if keep_body else []
        received = len(body)
        view = memoryview(self.buffer)
        while received < length:
            count = self.socket.recv_into(view, min(RECEIVE, length - received))
            if not count:
                raise ConnectionError("the server closed the connection in the middle")
            if keep_body:
                chunks.append(bytes(view[:count]))
            received += count
        return status, length, head + b"\r\n\r\n" + b"".join(chunks)

    def get(self, path: str, headers: tuple[str, ...] = (), keep_body: bool = False) -> tuple[int, int, bytes]:
        self.send("GET", path, headers)
        return self.receive(keep_body)
