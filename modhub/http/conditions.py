"""Conditional and range requests for a representation whose validators and size are known (RFC 9110, sections 13, 14).

Plain values in, plain values out: no request, no response, no file. Nothing that a client sends raises.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

_TAG = re.compile(r'[ \t]*(?:(W/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|\Z)')
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)\Z", re.IGNORECASE)
_DATE_FORMATS = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")
_DATE = re.compile(r"[A-Z][a-z]{2,8},? [A-Za-z0-9:\- ]{10,40}\Z")
_BEYOND = 10**20
"""Stands for every longer number: beyond any file, and short enough for ``int``."""


@dataclass(frozen=True)
class Outcome:
    """What to answer: 200, 206, 304, 412 or 416, and for 200 and 206 the bytes ``start`` to ``stop`` (not included)."""

    status: HTTPStatus
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class Validators:
    """What tells one state of a representation from another.

    ``etag`` is strong and quoted, ``modified`` the instant of the last change, of which only the whole second counts.
    ``moving``: the address may lead to an older file later, so that a date tells something only when it is this one's.
    """

    etag: str
    modified: datetime
    moving: bool = False

    def unchanged_since(self, date: datetime) -> bool:
        """Whether the state is the one that was there at ``date``."""
        modified = self.modified.astimezone(UTC).replace(microsecond=0)
        return modified == date if self.moving else modified <= date


def evaluate(method: str, headers: Mapping[str, str], known: Validators, size: int) -> Outcome:
    """Judge a GET or HEAD in the order of RFC 9110, 13.2.2.

    ``headers`` finds a field by its usual spelling (``If-None-Match``), ``size`` is in bytes.
    """
    if not _as_expected(headers, known):
        return Outcome(HTTPStatus.PRECONDITION_FAILED)
    if _is_known(headers, known):
        return Outcome(HTTPStatus.NOT_MODIFIED)
    whole = Outcome(HTTPStatus.OK, 0, size)
    # HEAD has no ranges (14.2), and gets the headers of the whole.
    if method != "GET" or "Range" not in headers or not _may_continue(headers, known.etag):
        return whole
    return _range(headers["Range"], size) or whole


def _as_expected(headers: Mapping[str, str], known: Validators) -> bool:
    """Steps 1 and 2: ``If-Match`` by strong comparison, else ``If-Unmodified-Since``."""
    if "If-Match" in headers:
        expected = headers["If-Match"]
        return expected.strip() == "*" or known.etag in _tags(expected, weak=False)
    date = _date(headers.get("If-Unmodified-Since"))
    return date is None or known.unchanged_since(date)


def _is_known(headers: Mapping[str, str], known: Validators) -> bool:
    """Steps 3 and 4: ``If-None-Match`` by weak comparison, else ``If-Modified-Since``."""
    if "If-None-Match" in headers:
        return names(headers["If-None-Match"], known.etag)
    date = _date(headers.get("If-Modified-Since"))
    return date is not None and known.unchanged_since(date)


def names(known: str, etag: str) -> bool:
    """Whether the value of an ``If-None-Match`` names ``etag`` or, with ``*``, whatever there is."""
    return known.strip() == "*" or etag in _tags(known, weak=True)


def _may_continue(headers: Mapping[str, str], etag: str) -> bool:
    """Step 5: ``If-Range`` by strong comparison.

    A date never suffices. It is a strong validator only for who knows that the file did not change twice within that
    second (8.8.2.2), which a replaced file may have done: its old beginning would get the new end. No client loses by
    it, since one that has an entity tag, and all ours have, must send that instead (13.1.5).
    """
    condition = headers.get("If-Range")
    return condition is None or condition.strip() == etag


def _range(value: str, size: int) -> Outcome | None:
    """One range of bytes; ``None`` for what is to be ignored: other units, several ranges, bad syntax (14.2)."""
    match = _RANGE.match(value.strip())
    if match is None:
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        return _suffix(_number(last), size)
    start = _number(first)
    end = _number(last) if last else _BEYOND
    if end < start:
        return None
    if start >= size:
        return Outcome(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    return Outcome(HTTPStatus.PARTIAL_CONTENT, start, min(end + 1, size))


def _suffix(length: int, size: int) -> Outcome | None:
    """The last ``length`` bytes; all of a shorter file. Nothing of an empty one can be named by a Content-Range."""
    if length == 0:
        return Outcome(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    if size == 0:
        return None
    return Outcome(HTTPStatus.PARTIAL_CONTENT, max(size - length, 0), size)


def _number(digits: str) -> int:
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= 20 else _BEYOND


def _tags(value: str, *, weak: bool) -> set[str]:
    """The quoted tags of a list, without the weak ones unless ``weak``; none at all when the syntax is bad (8.8.3)."""
    tags = set()
    position = 0
    while position < len(value):
        match = _TAG.match(value, position)
        if match is None:
            return set()
        if match[2] is not None and (weak or match[1] is None):
            tags.add(f'"{match[2]}"')
        position = match.end()
    return tags


def _date(value: str | None) -> datetime | None:
    """An HTTP date in any of its three forms (5.6.7); ``None`` for anything else, which makes the field void."""
    if value is None or not _DATE.match(value.strip()):
        return None
    for form in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(value.strip(), form).replace(tzinfo=UTC)
    return None
