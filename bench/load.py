"""A closed-loop load on one address: N connections, each sends its next request when its response is complete."""

import selectors
import socket
import time
from dataclasses import dataclass
from typing import Any

RECEIVE = 1 << 18


@dataclass(frozen=True)
class Load:
    """What happened: requests a second, and the latencies in seconds, sorted."""

    per_second: float
    latencies: list[float]

    def percentile(self, share: float) -> float:
        """The latency that ``share`` of the requests did not exceed."""
        return self.latencies[min(int(len(self.latencies) * share), len(self.latencies) - 1)]


class _Connection:
    """One persistent connection and the response that it is waiting for."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = request
        self.sent = 0.0
        self.head = b""
        self.missing = 0

    def send(self) -> None:
        self.head, self.missing, self.sent = b"", -1, time.perf_counter()
        self.socket.sendall(self.request)

    def receive(self, expected: bytes) -> bool:
        """Read what has come; whether the response is complete."""
        data = self.socket.recv(RECEIVE)
        if not data:
            raise ConnectionError("the server closed the connection")
        if self.missing >= 0:
            self.missing -= len(data)
            return self.missing <= 0
        self.head += data
        head, end, body = self.head.partition(b"\r\n\r\n")
        if not end:
            return False
        if not head.startswith(expected):
            raise AssertionError(head.partition(b"\r\n")[0].decode())
        at = head.lower().find(b"\r\ncontent-length:")
        length = 0 if at < 0 or b" 304 " in head[:16] else int(head[at + 17 :].split(b"\r\n", 1)[0])
        self.missing = length - len(body)
        return self.missing <= 0


def load(
    port: int, path: str, *, seconds: float, connections: int = 1, headers: tuple[str, ...] = (), status: int = 200
) -> Load:
    """Send GET requests for ``seconds``; `AssertionError` for another status."""
    request = "\r\n".join([f"GET {path} HTTP/1.1", "Host: bench", *headers, "", ""]).encode()
    expected = f"HTTP/1.1 {status} ".encode()
    selector: Any = selectors.DefaultSelector()
    open_connections = [_Connection(port, request) for _ in range(connections)]
    for connection in open_connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()
    latencies: list[float] = []
    started = time.perf_counter()
    try:
        while time.perf_counter() < started + seconds:
            for key, _ in selector.select(5):
                if key.data.receive(expected):
                    latencies.append(time.perf_counter() - key.data.sent)
                    key.data.send()
        elapsed = time.perf_counter() - started
    finally:
        selector.close()
        for connection in open_connections:
            connection.socket.close()
    return Load(len(latencies) / elapsed, sorted(latencies))
