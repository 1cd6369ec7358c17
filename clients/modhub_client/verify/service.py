"""Calls of the service that is verified: four connections at most, patient when it says to wait, never redirected."""

import http.client
import json
import threading
import time
from collections.abc import Mapping
from queue import LifoQueue
from typing import Any, Final, Self

from modhub_client.transport import Transport
from modhub_client.verify.replies import PROGRAM, Broken, Interrupted, Reply, Skipped, Unreachable

CONNECTIONS: Final = 4
"""Connections at the same time, at most."""
LONGEST_WAIT: Final = 30.0
"""Seconds that one ``Retry-After`` is believed."""
MOST_PATIENCE: Final = 120.0
"""Seconds of a run that are waited in all because the service asked for it."""
TRIES: Final = 3
"""How often a call is sent whose connection breaks or that is told to wait."""
_MOST_BYTES: Final = 32 * 1024 * 1024
IDLE: Final = 4.0
"""Seconds after which an unused connection is not trusted any more: servers close those."""
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


class _Line:
    """A connection, and when it was last used."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.used = 0.0

    def refresh(self, *, fresh: bool) -> None:
        if fresh or time.monotonic() - self.used > IDLE:
            self.connection.close()


class VerifiedService:
    """The service at ``url``. Threads may share it: each call takes one of the connections."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        self._transport = Transport(url, PROGRAM, timeout)
        self.url = self._transport.url
        self.host = f"[{self._transport.host}]" if ":" in self._transport.host else self._transport.host
        """Its name or number, without a port."""
        self.calls = 0
        self.stop = threading.Event()
        self._lines: LifoQueue[_Line] = LifoQueue()
        self._all = [_Line(self._transport.new_connection()) for _ in range(CONNECTIONS)]
        for line in self._all:
            self._lines.put(line)
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._patience = MOST_PATIENCE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections while no call is made; the next calls open new ones."""
        for line in self._all:
            line.connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        """``GET``; ``if_none_match="…"`` is the header ``If-None-Match``."""
        return self.call("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def head(self, path: str, **headers: str) -> Reply:
        """``HEAD``, with headers as in `get`."""
        return self.call("HEAD", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def read(self, path: str) -> dict[str, Any]:
        """The document of a ``GET``, which has to be answered with 200."""
        return self.get(path).expect_document()

    def ask(self, path: str, question: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """``POST`` JSON. A question that may be asked again: what changes something is sent by `call`."""
        return self.call("POST", path, question, headers=headers, repeatable=True)

    def call(
        self,
        method: str,
        path: str,
        value: Any = None,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        patient: bool = True,
    ) -> Reply:
        """Send a request and read the whole response; ``path`` begins with a slash and is percent-encoded.

        ``value`` is sent as JSON, else ``body`` as it is.
        ``repeatable``: whether it is sent again when its connection breaks; without it the method decides. ``patient``:
        whether a 429 or 503 with ``Retry-After`` is waited for. `Skipped` if the service stays busy, `Unreachable` if
        nobody answers, `Broken` if the service breaks the connection although it answers other calls.
        """
        sent = dict(headers or {})
        if value is not None:
            sent, body = {"Content-Type": "application/json", **sent}, json.dumps(value).encode()
        may_repeat = method in _REPEATABLE if repeatable is None else repeatable
        broken = ""
        for _ in range(TRIES):
            self._wait_until_welcome()
            try:
                reply = self._exchange(method, path, body, sent, own_line=not may_repeat)
            except (OSError, http.client.HTTPException) as problem:
                broken = str(problem) or type(problem).__name__
                if not may_repeat:
                    break
                continue
            wait = _asked_wait(reply) if patient else None
            if wait is None:
                return reply
            self._take_patience(reply, wait)
        if not broken:
            raise Skipped(f"{method} {path}: the service stays busy; try again later.")
        if not self._answers():
            raise Unreachable(f"{self.url} cannot be reached{self._transport.through}: {broken}.")
        raise Broken(f"{method} {path}: expected a response, the connection failed ({broken}).")

    def _answers(self) -> bool:
        try:
            self._exchange("HEAD", "/api/modhub", None, {})
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], *, own_line: bool = False
    ) -> Reply:
        """``own_line``: over a new connection, since a proxy may close a kept one at any moment."""
        line = self._lines.get()
        try:
            line.refresh(fresh=own_line)
            began = time.monotonic()
            response = self._transport.send(line.connection, method, path, body, headers)
            content = response.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                line.connection.close()
            line.used = time.monotonic()
        except BaseException:
            line.connection.close()
            raise
        finally:
            with self._lock:
                self.calls += 1
            self._lines.put(line)
        if len(content) > _MOST_BYTES:
            raise Broken(f"{method} {path}: the body has more than {_MOST_BYTES} bytes.")
        return Reply(f"{method} {path}", response.status, response.headers, content, line.used - began)

    def _wait_until_welcome(self) -> None:
        """Wait as long as any call was told to: a limit counts all calls of a caller."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self.stop.wait(left):
                break
        if self.stop.is_set():
            raise Interrupted

    def _take_patience(self, reply: Reply, wait: float) -> None:
        with self._lock:
            self._patience -= wait
            if self._patience < 0:
                raise Skipped(f"{reply.call}: the service answers {reply.status} again and again; try again later.")
            self._not_before = max(self._not_before, time.monotonic() + wait)


def _asked_wait(reply: Reply) -> float | None:
    """The seconds that a busy service asks to wait; None if it is not busy, or gives no number (C-ERR-15)."""
    asked = reply.header("Retry-After").strip()
    if reply.status not in {429, 503} or not (asked.isascii() and asked.isdigit()):
        return None
    return min(float(asked[:6]), LONGEST_WAIT)
