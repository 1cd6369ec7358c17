"""An HTTP client for tests that calls a running service over a loopback socket."""

import http.client
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

TIMEOUT = 200.0
"""Seconds; only against hanging, so that a slow machine causes no failures."""
PATIENCE = 60.0
TOKEN_SECONDS = 20 * 60
"""An access token lasts 30 minutes; a long test on a busy machine takes longer."""


class CallerResponse(NamedTuple):
    """An HTTP response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def patiently(call: Callable[[], Any]) -> Any:
    """Make a call and repeat it while the response is 503 ``busy``, which any write can get on a slow machine.

    A ``busy`` call has changed nothing, so repeating it is safe in races too.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = call()
        if not is_busy(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(float(answer.headers["Retry-After"]))


def is_busy(answer: Any) -> bool:
    """Whether the response is 503 ``busy`` with ``Retry-After``."""
    if not isinstance(answer, CallerResponse) or answer.status != 503 or answer.headers["Retry-After"] is None:
        return False
    return answer.headers.get_content_type() == "application/json" and answer.json["error"] == "busy"


class Caller:
    """A client of the service: one connection per call, to each of the processes in turn.

    ``token`` is the access token that is sent with every call, unless it is empty. With ``refresh_token`` another one
    replaces it before it expires.
    """

    def __init__(self, ports: Sequence[int], token: str = "", refresh_token: str = "") -> None:
        self.ports = tuple(ports)
        self.token = token
        self._refresh_token = refresh_token
        self._renew_at = time.monotonic() + TOKEN_SECONDS
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
        """Make a call. A dict is sent as JSON, an iterator of bytes is sent chunked.

        OSError or HTTPException if there is no response.
        """
        if self._refresh_token and time.monotonic() > self._renew_at:
            self._renew()
        port = port or next(self._turns, None)
        if port is None:
            raise ConnectionRefusedError("there is no process to call")
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
        """Return the JSON of the response, None if empty; retries `busy`, AssertionError for any other status."""
        answer = patiently(lambda: self.ask(method, path, body))
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.body[:500]!r}"
        return answer.json if answer.body else None

    def _renew(self) -> None:
        self._renew_at = time.monotonic() + TOKEN_SECONDS
        session = self.need(200, "POST", "/api/auth/refresh", {"refreshToken": self._refresh_token})
        self.token, self._refresh_token = session["accessToken"], session["refreshToken"]

    def new_mod(self, title: str, **fields: Any) -> Any:
        """Create a draft."""
        return self.need(201, "POST", "/api/modhub", {"title": title, **fields})

    def send_file(
        self, mod_id: int, kind: str, content: Any, content_type: str = "application/zip", **query: str
    ) -> CallerResponse:
        """Upload ``content`` as ``code``, ``css`` or ``images``."""
        address = f"/api/modhub/{mod_id}/{kind}" + ("?" + urlencode(query, quote_via=quote) if query else "")
        return self.ask("POST", address, content, {"Content-Type": content_type})

    def published(self, title: str, content: bytes = b"the code of a mod", **fields: Any) -> Any:
        """Create and publish a mod of version 1."""
        mod = self.new_mod(title, **fields)
        sent = patiently(lambda: self.send_file(mod["id"], "code", content, version="1", name="mod.zip"))
        assert sent.status == 201, sent
        return self.need(200, "POST", f"/api/modhub/{mod['id']}/publish")
