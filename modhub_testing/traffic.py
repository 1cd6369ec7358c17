"""Steady traffic through a proxy while the processes behind it are restarted one after the other."""

import http.client
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from modhub_testing.nginx import Proxy
from modhub_testing.service import PASSWORD, Installation, Process

READERS = 14
PAUSE_SECONDS = 0.2
"""Of each reader after each request: together they ask 50 times a second, if a response takes 80 ms."""
UPLOAD = 2 * 1024 * 1024
DOWNLOAD = 6 * 1024 * 1024
STEPS = 30
DELAY_SECONDS = 0.1
PATHS = ("/api/modhub", "/Modhub", "/api/modhub/games", "/api/modhub/1", "/Modhub/1", "/healthz")


class Traffic:
    """Readers, one upload after the other, and slow downloads; ``failures`` has each request that failed."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.failures: list[str] = []
        self.answered: Counter[str] = Counter()
        self._ended = threading.Event()
        self._content = os.urandom(DOWNLOAD)
        self._token = self._register()
        self._mod = self._publish()
        jobs: list[Callable[[], None]] = [self._upload, self._download, self._download]
        jobs += [self._read_afresh] * (READERS // 2) + [self._read_on] * (READERS // 2)
        self._threads = [threading.Thread(target=self._repeat, args=(job,)) for job in jobs]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let every request finish; no others are made."""
        self._ended.set()
        for thread in self._threads:
            thread.join(120)

    def _register(self) -> str:
        body = json.dumps({"email": "traffic@example.org", "password": PASSWORD})
        answer = self.proxy.ask("POST", "/api/auth/register", body, {"Content-Type": "application/json"})
        assert answer.status == 201, answer
        return f"Bearer {answer.json['accessToken']}"

    def _publish(self) -> int:
        owner = {"Authorization": self._token}
        mod: int = self.proxy.ask("POST", "/api/modhub", json.dumps({"title": "Downloaded"}), owner).json["id"]
        sent = self.proxy.ask("POST", f"/api/modhub/{mod}/code?version=1&name=a.zip", self._content, owner)
        assert sent.status == 201, sent
        assert self.proxy.ask("POST", f"/api/modhub/{mod}/publish", None, owner).status == 200
        return mod

    def _repeat(self, job: Callable[[], None]) -> None:
        while not self._ended.is_set():
            try:
                job()
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.failures.append(f"{job.__name__}: {error!r}")

    def _count(self, kind: str, answer: Any) -> None:
        assert answer.status in {200, 201}, (kind, answer.status, answer.headers["X-Request-Id"])
        self.answered[kind] += 1

    def _read_afresh(self) -> None:
        """Each request over a connection of its own."""
        for path in PATHS:
            self._count("read", self.proxy.ask("GET", path))
            self._ended.wait(PAUSE_SECONDS)

    def _read_on(self) -> None:
        """All requests over one connection."""
        connection = self._connect()
        try:
            for path in PATHS * 5:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                self._count("read", answer)
                if self._ended.wait(PAUSE_SECONDS):
                    return
        finally:
            connection.close()

    def _upload(self) -> None:
        """A draft with a file, then the draft is deleted."""
        owner = {"Authorization": self._token}
        made = self.proxy.ask("POST", "/api/modhub", json.dumps({"title": "Uploaded"}), owner)
        self._count("write", made)
        body = os.urandom(UPLOAD)
        where = f"/api/modhub/{made.json['id']}"
        pieces = (body[at : at + UPLOAD // 8] for at in self._slowly(range(0, UPLOAD, UPLOAD // 8)))
        sent = self.proxy.ask("POST", f"{where}/code?version=1&name=a.zip", pieces, owner)
        self._count("upload", sent)
        assert sent.json["assets"][0]["bytes"] == UPLOAD, sent
        gone = self.proxy.ask("DELETE", where, None, owner)
        assert gone.status == 204, gone
        self.answered["write"] += 1

    def _download(self) -> None:
        """A reader who takes seconds for the whole file."""
        connection = self._connect()
        try:
            connection.request("GET", f"/api/modhub/{self._mod}/download")
            answer = connection.getresponse()
            head = b"".join(answer.read(DOWNLOAD // STEPS) for _ in self._slowly(range(STEPS)))
            assert head + answer.read() == self._content, "cut or wrong"
            self._count("download", answer)
        finally:
            connection.close()

    def _slowly(self, steps: range) -> Any:
        for step in steps:
            yield step
            time.sleep(DELAY_SECONDS)

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.proxy.port, timeout=200, context=self.proxy.context())


def restart(service: Installation, process: Process, number: signal.Signals) -> Process:
    """Ask a process to end, wait until it has, and start another one at its port."""
    process.popen.send_signal(number)
    code = process.popen.wait(120)
    assert code == 0, (number, code)
    return service.start(port=process.port)
