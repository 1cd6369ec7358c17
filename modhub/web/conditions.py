"""Conditional and range requests for a representation with known validators and size (RFC 9110, sections 13, 14).

Plain values in, plain values out: no request, no response, no file. No client input raises.
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
_HUGE = 10**20
"""Stands for every longer number: larger than any file, and short enough for ``int``."""


@dataclass(frozen=True)
class Outcome:
    """The status to send: 200, 206, 304, 412 or 416; for 200 and 206 the bytes ``start`` to ``stop`` (exclusive)."""

    status: HTTPStatus
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class Validators:
    """Identifies one state of a representation.

    ``etag`` is strong and quoted. ``modified`` is the time of the last change, compared by whole seconds. ``moving``:
    the address may lead to an older file later, so a date matches only if it is exactly this one's.
    """

    etag: str
    modified: datetime
    moving: bool = False

    def unchanged_since(self, date: datetime) -> bool:
        """Whether this was the state at ``date``."""
        modified = self.modified.astimezone(UTC).replace(microsecond=0)
        return modified == date if self.moving else modified <= date


def evaluate(method: str, headers: Mapping[str, str], validators: Validators, size: int) -> Outcome:
    """Evaluate a GET or HEAD in the order of RFC 9110, 13.2.2.

    ``headers`` finds a field by its usual spelling (``If-None-Match``), ``size`` is in bytes.
    """
    if not _preconditions_hold(headers, validators):
        return Outcome(HTTPStatus.PRECONDITION_FAILED)
    if _is_not_modified(headers, validators):
        return Outcome(HTTPStatus.NOT_MODIFIED)
    full = Outcome(HTTPStatus.OK, 0, size)
    # HEAD has no ranges (14.2), and gets the headers of the whole.
    if method != "GET" or "Range" not in headers or not _if_range_matches(headers, validators.etag):
        return full
    return _range(headers["Range"], size) or full


def _preconditions_hold(headers: Mapping[str, str], validators: Validators) -> bool:
    """Steps 1 and 2: ``If-Match`` by strong comparison, else ``If-Unmodified-Since``."""
    if "If-Match" in headers:
        return if_match_names(headers["If-Match"], validators.etag)
    date = _date(headers.get("If-Unmodified-Since"))
    return date is None or validators.unchanged_since(date)


def _is_not_modified(headers: Mapping[str, str], validators: Validators) -> bool:
    """Steps 3 and 4: ``If-None-Match`` by weak comparison, else ``If-Modified-Since``."""
    if "If-None-Match" in headers:
        return if_none_match_names(headers["If-None-Match"], validators.etag)
    date = _date(headers.get("If-Modified-Since"))
    return date is not None and validators.unchanged_since(date)


def if_match_names(header: str, etag: str) -> bool:
    """Whether the value of an ``If-Match`` header names ``etag``, by strong comparison, or is ``*``."""
    return header.strip() == "*" or etag in _tags(header, weak=False)


def if_none_match_names(header: str, etag: str) -> bool:
    """Whether the value of an ``If-None-Match`` header names ``etag`` or is ``*``."""
    return header.strip() == "*" or etag in _tags(header, weak=True)


def compressed_etag(etag: str) -> str:
    """The ``ETag`` of the compressed form; a weak one names both."""
    return etag if etag.startswith("W/") else f'{etag[:-1]}-gzip"'


def identity_etag(etag: str) -> str:
    """The ``ETag`` of the form that is not compressed."""
    return f'{etag[:-6]}"' if etag.endswith('-gzip"') else etag


def named_etag(header: str | None, etag: str) -> str | None:
    """The tag that an ``If-None-Match`` names: ``etag``, or that of its compressed form; None if neither."""
    if header is None:
        return None
    if etag.startswith("W/"):
        return etag if if_none_match_names(header, etag[2:]) else None
    return next((tag for tag in (etag, compressed_etag(etag)) if if_none_match_names(header, tag)), None)


def _if_range_matches(headers: Mapping[str, str], etag: str) -> bool:
    """Step 5: ``If-Range`` by strong comparison.

    A date never matches. It is a strong validator only if the file did not change twice within that second (8.8.2.2),
    which a replaced file may have done: its old beginning would get the new end. No client loses: all of ours have an
    entity tag and must send that instead (13.1.5).
    """
    condition = headers.get("If-Range")
    return condition is None or condition.strip() == etag


def _range(value: str, size: int) -> Outcome | None:
    """A single range of bytes; None for anything to be ignored: other units, several ranges, bad syntax (14.2)."""
    match = _RANGE.match(value.strip())
    if match is None:
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        return _suffix(_number(last), size)
    start = _number(first)
    end = _number(last) if last else _HUGE
    if end < start:
        return None
    if start >= size:
        return Outcome(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    return Outcome(HTTPStatus.PARTIAL_CONTENT, start, min(end + 1, size))


def _suffix(length: int, size: int) -> Outcome | None:
    """The last ``length`` bytes; all of a shorter file. A Content-Range cannot name any byte of an empty file."""
    if length == 0:
        return Outcome(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    if size == 0:
        return None
    return Outcome(HTTPStatus.PARTIAL_CONTENT, max(size - length, 0), size)


def _number(digits: str) -> int:
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= 20 else _HUGE


def _tags(value: str, *, weak: bool) -> set[str]:
    """The quoted tags of a list, without the weak ones unless ``weak``; empty if the syntax is bad (8.8.3)."""
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
    """An HTTP date in any of its three forms (5.6.7); None for anything else, so that the field is ignored."""
    if value is None or not _DATE.match(value.strip()):
        return None
    for date_format in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(value.strip(), date_format).replace(tzinfo=UTC)
    return None
