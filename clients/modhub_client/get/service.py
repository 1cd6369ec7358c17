"""Calls of the service: patient with bad connections, strict with answers, and without any credential."""

import http.client
import json
import random
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlencode

from modhub_client.get.outcome import PROGRAM, ExitCode
from modhub_client.output import ClientError
from modhub_client.transport import Transport

ATTEMPTS: Final = 6
"""Attempts in a row without any progress before a call is given up."""
MAX_ANSWER: Final = 32 * 1024 * 1024
"""Bytes of JSON that are read at most."""
MAX_WAIT: Final = 30.0
FIRST_WAIT: Final = 0.25
PASSING: Final = frozenset({429, 500, 502, 503, 504})
"""Statuses that may be gone the next time."""
_PATH: Final = re.compile(r"/(?!/)[!-\[\]-~]*")
"""An address on the same service: one leading slash, printable ASCII, no backslash."""
_T = TypeVar("_T")


class Passing(Exception):
    """A failure that may be gone the next time. ``wait``: the seconds that the service asked for."""

    def __init__(self, reason: str, wait: float | None = None, *, reached: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.reached = reached
        """Whether the service answered; otherwise the connection failed."""


class Stopped(Exception):
    """Another download has failed, so this one ends."""


class NothingThere(ClientError):
    """The service is there, but not what was asked for."""

    def __init__(self, url: str) -> None:
        super().__init__(ExitCode.BAD_ANSWER, f"{url} does not have what was asked for.")


class ModhubService:
    """The service at ``url``. Each thread has a connection of its own; ``stop`` ends waiting in all of them."""

    def __init__(self, url: str, timeout: float) -> None:
        self._transport = Transport(url, PROGRAM, timeout)
        self.url = self._transport.url
        self.is_private = self._transport.is_private
        self.stop = threading.Event()
        self._of_thread = threading.local()
        self._opened: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._opened:
            connection.close()

    def get(self, path: str, query: Mapping[str, Any], decode: Callable[[Any], _T]) -> _T:
        """Read ``path``. ``decode`` turns the JSON into a value, or raises ``ValueError`` if it makes no sense."""
        return self._call("GET", f"{path}?{urlencode(query)}", None, decode)

    def find(self, path: str, decode: Callable[[Any], _T]) -> _T | None:
        """As `get`; None if the service says that nothing is there."""
        try:
            return self._call("GET", path, None, decode)
        except NothingThere:
            return None

    def post(self, path: str, body: Any, decode: Callable[[Any], _T]) -> _T:
        """As `get`, with a JSON body. These calls only read, so they may be repeated."""
        return self._call("POST", path, json.dumps(body).encode(), decode)

    def open(self, path: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Send a GET and return the response with its body unread; a passing failure is `Passing`."""
        return self._send("GET", path, None, headers)

    def close(self) -> None:
        """Close this thread's connection: its last response was not read to the end."""
        connection = getattr(self._of_thread, "connection", None)
        if connection is not None:
            # It connects again when it is used.
            connection.close()

    def wait(self, failures: int, problem: Passing) -> None:
        """Wait before the next attempt: longer each time, as long as asked, and not all clients at once."""
        if failures >= ATTEMPTS:
            raise self._given_up(problem)
        backoff = FIRST_WAIT * 2 ** (failures - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        self.pause(min(max(backoff, problem.wait or 0.0), MAX_WAIT))

    def pause(self, seconds: float) -> None:
        """Wait; `Stopped` if another download has failed in the meantime."""
        if self.stop.wait(seconds):
            raise Stopped

    def _call(self, method: str, path: str, body: bytes | None, decode: Callable[[Any], _T]) -> _T:
        failures = 0
        while True:
            try:
                return self._exchange(method, path, body, decode)
            except Passing as problem:
                failures += 1
                self.wait(failures, problem)

    def _exchange(self, method: str, path: str, body: bytes | None, decode: Callable[[Any], _T]) -> _T:
        response = self._send(method, path, body, {"Accept": "application/json"})
        try:
            text = response.read(MAX_ANSWER + 1)
            until_close = response.length is None and not response.chunked
            whole = response.isclosed() or until_close
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise _broken(problem) from None
        if len(text) > MAX_ANSWER:
            self.close()
            raise ClientError(ExitCode.BAD_ANSWER, f"The answer of {path} is too large.")
        if not whole:
            self.close()
            raise Passing("the answer was cut short")
        if response.status != 200:
            error = _error_of(text)
            if response.status == 404 and method == "GET" and error.get("error") == "not_found":
                raise NothingThere(self.url)
            raise _refusal(self.url, response.status, error)
        try:
            return decode(json.loads(text))
        except (ValueError, RecursionError) as problem:
            raise Passing(f"the answer of {path} makes no sense ({problem})", reached=True) from None

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self.pause(0)
        sent = {**headers, "Content-Type": "application/json"} if body is not None else headers
        try:
            response = self._transport.send(self._connection(), method, path, body, sent)
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise _broken(problem) from None
        if 300 <= response.status < 400 and response.status != 304:
            self.close()
            raise ClientError(ExitCode.BAD_ANSWER, "The service redirects to another address: give that with --url.")
        if response.getheader("Content-Encoding", "identity") != "identity":
            self.close()
            raise Passing("the answer has an encoding that was not asked for", reached=True)
        if response.status in PASSING:
            raise self._passing(response)
        return response

    def _passing(self, response: http.client.HTTPResponse) -> Exception:
        try:
            error = _error_of(response.read(MAX_ANSWER))
        except (OSError, http.client.HTTPException):
            error = {}
        self.close()
        if error.get("error") == "storage_not_configured":
            return ClientError(ExitCode.BAD_ANSWER, "The service has no file storage configured. Tell its operator.")
        asked = response.getheader("Retry-After", "")
        wait = float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else None
        return Passing(f"status {response.status}", wait)

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = self._transport.new_connection()
            self._opened.append(connection)
        return connection

    def _given_up(self, problem: Passing) -> ClientError:
        if problem.reached:
            return ClientError(ExitCode.BAD_ANSWER, f"{self.url} gave no usable answer: {problem}.")
        sentence = f"{self.url} cannot be reached{self._transport.through} or is busy: {problem}. Try again later."
        return ClientError(ExitCode.UNREACHABLE, sentence)


def is_own_path(address: str) -> bool:
    """Whether ``address`` leads to the same service, wherever it is."""
    return _PATH.fullmatch(address) is not None


def _broken(problem: Exception) -> Passing:
    return Passing(f"the connection failed ({problem or type(problem).__name__})")


def _error_of(text: bytes) -> Mapping[str, Any]:
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return error if isinstance(error, dict) else {}


def _refusal(url: str, status: int, error: Mapping[str, Any]) -> ClientError:
    if status in {404, 405}:
        sentence = f"{url} is not a modhub service, or its feature modhub_sync is switched off."
        return ClientError(ExitCode.BAD_ANSWER, sentence)
    message = str(error.get("message") or error.get("error") or "no reason given")[:300]
    return ClientError(ExitCode.BAD_ANSWER, f"The service refused ({status}): {message}")
