"""A program that calls a running service over a loopback socket, for tests."""

import http.client
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

TIMEOUT = 200.0
"""Seconds; against hanging alone: what a starved machine takes for one answer is no fault."""
PATIENCE = 60.0


class CallerResponse(NamedTuple):
    """One HTTP answer."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def patiently(call: Callable[[], Any]) -> Any:
    """What ``call`` answers; made again while the answer is 503 ``busy``, which any write meets on a starved machine.

    Nothing has happened then, so of many who want the same still one has it.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = call()
        if not is_busy(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(float(answer.headers["Retry-After"]))


def is_busy(answer: Any) -> bool:
    """Whether a program was told to ask again in a moment."""
    if not isinstance(answer, CallerResponse) or answer.status != 503 or answer.headers["Retry-After"] is None:
        return False
    return answer.headers.get_content_type() == "application/json" and answer.json["error"] == "busy"


class Caller:
    """A program that calls the service: a connection a call, to each of the processes in turn.

    ``token`` is the access token that goes with every call, none when it is empty.
    """

    def __init__(self, ports: Sequence[int], token: str = "") -> None:
        self.ports = tuple(ports)
        self.token = token
        self._turns = itertools.cycle(self.ports)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        timeout: float = TIMEOUT,
    ) -> CallerResponse:
        """One call. A dict is sent as JSON, an iterator of bytes chunked.

        OSError or HTTPException: there was no answer.
        """
        port = port or next(self._turns, None)
        if port is None:
            raise ConnectionRefusedError("there is no process to ask")
        sent = dict(headers or {})
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if isinstance(body, dict):
            sent.setdefault("Content-Type", "application/json")
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return CallerResponse(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def need(self, status: int, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer with this status (None when it is empty); AssertionError for another one but `busy`."""
        answer = patiently(lambda: self.ask(method, path, body))
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.body[:500]!r}"
        return answer.json if answer.body else None

    def new_mod(self, title: str, **fields: Any) -> Any:
        """A draft."""
        return self.need(201, "POST", "/api/modhub", {"title": title, **fields})

    def send_file(
        self, mod_id: int, kind: str, content: Any, content_type: str = "application/zip", **query: str
    ) -> CallerResponse:
        """Upload ``content`` as ``code``, ``css`` or ``images``."""
        address = f"/api/modhub/{mod_id}/{kind}" + ("?" + urlencode(query, quote_via=quote) if query else "")
        return self.ask("POST", address, content, {"Content-Type": content_type})

    def published(self, title: str, content: bytes = b"the code of a mod", **fields: Any) -> Any:
        """A published mod of version 1."""
        mod = self.new_mod(title, **fields)
        sent = patiently(lambda: self.send_file(mod["id"], "code", content, version="1", name="mod.zip"))
        assert sent.status == 201, sent
        return self.need(200, "POST", f"/api/modhub/{mod['id']}/publish")
