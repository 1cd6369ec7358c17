"""A response, what is expected of one, and how a check and a run end.

What is expected here raises `Broken` with what was expected and what came.
"""

import gzip
import http.client
import json
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

PROGRAM: Final = "modhub-verify"


class VerifyExit(IntEnum):
    """The exit codes; README.md has the same table."""

    KEPT = 0
    BROKEN = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


class Broken(Exception):
    """The service does not keep a clause. The sentence says what was expected and what came."""


class Skipped(Exception):
    """The check could not be tried, for this reason: the catalogue lacks what it needs, or the service is busy."""


class Absent(Exception):
    """The deployment leaves out this feature."""


class Unreachable(Exception):
    """Nobody answers at the address."""


class LeftBehind(Exception):
    """What a run has made and could not remove, in a sentence."""


class Interrupted(Exception):
    """The run ends, so this check does too."""


JSON_TYPE: Final = {"Content-Type": "application/json"}
_SHOWN: Final = 200
"""Characters of a value that a sentence shows."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: status, headers (in any spelling, several of one name), body. ``call`` names the request."""

    call: str
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    seconds: float = 0.0

    def header(self, name: str) -> str:
        """The values of a header, joined by commas; empty without one."""
        return ", ".join(self.headers.get_all(name, []))

    def names(self, header: str) -> set[str]:
        """The entries of a header that is a list, in lower case."""
        return {entry.strip().lower() for entry in self.header(header).split(",") if entry.strip()}

    @property
    def path(self) -> str:
        """The address that was asked for."""
        return self.call.partition(" ")[2]

    @property
    def media_type(self) -> str:
        """The type of the body without parameters."""
        return self.header("Content-Type").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            raise Broken(f"{self.call}: the body is not UTF-8.") from None

    def json(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Broken(f"{self.call}: the body is not JSON: {_cut(self.body[:_SHOWN])}") from None

    def document(self) -> dict[str, Any]:
        """The body as a JSON object."""
        value = self.json()
        if not isinstance(value, dict):
            raise Broken(f"{self.call}: the body is no JSON object but {_cut(value)}")
        return value

    def unzipped(self) -> bytes:
        """The body of a response with ``Content-Encoding: gzip``."""
        try:
            return gzip.decompress(self.body)
        except (OSError, EOFError, zlib.error):
            raise Broken(f"{self.call}: Content-Encoding says gzip, but the body is not.") from None

    def expect(self, *statuses: int) -> "Reply":
        """Return itself if it has one of these statuses."""
        if self.status not in statuses:
            raise Broken(f"{self.call}: expected {' or '.join(map(str, statuses))}, came {self.status}.")
        return self

    def expect_document(self, status: int = 200) -> dict[str, Any]:
        """Return the body as a JSON object if this is the status."""
        return self.expect(status).document()

    def expect_header(self, name: str, value: str) -> "Reply":
        """Return itself if a header has exactly this value."""
        if self.header(name) != value:
            raise Broken(f"{self.call}: expected {name}: {value}, came {_cut(self.header(name))}.")
        return self

    def expect_named(self, header: str, *entries: str) -> "Reply":
        """Return itself if a header that is a list has these entries, in any case."""
        missing = [entry for entry in entries if entry.lower() not in self.names(header)]
        if missing:
            raise Broken(f"{self.call}: expected {', '.join(missing)} in {header}, came {_cut(self.header(header))}.")
        return self

    @property
    def error(self) -> str:
        """The code of a JSON error; empty if it is none."""
        try:
            return str(self.document().get("error", ""))
        except Broken:
            return ""

    def expect_error(self, status: int, code: str = "") -> dict[str, Any]:
        """Return the body of a JSON error with this status, and this code unless it is empty."""
        body = self.expect(status).document()
        if code and body.get("error") != code:
            raise Broken(f"{self.call}: expected the error {code}, came {_cut(body.get('error'))}.")
        return body


def require_same(subject: str, first: Reply, other: Reply) -> None:
    """`Broken` unless two answers are the same byte for byte, but for their time and request id."""
    for what, expected, came in (
        ("status", first.status, other.status),
        ("body", first.body, other.body),
        ("headers", _lasting(first), _lasting(other)),
    ):
        if expected != came:
            raise Broken(f"{subject}: expected one answer for both, came the {what} {expected!r} and {came!r}.")


def _lasting(reply: Reply) -> list[tuple[str, str]]:
    passing = {"date", "x-request-id", "connection", "keep-alive"}
    return sorted((name.lower(), value) for name, value in reply.headers.items() if name.lower() not in passing)


def require(condition: object, sentence: str) -> None:
    """`Broken` with this sentence unless the condition holds."""
    if not condition:
        raise Broken(sentence)


def require_equal(subject: str, expected: object, came: object) -> None:
    """`Broken` unless two values are equal; ``subject`` says of what."""
    if expected != came:
        raise Broken(f"{subject}: expected {_cut(expected)}, came {_cut(came)}.")


def _cut(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value or "nothing"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
