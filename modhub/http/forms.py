"""The bodies of forms: ``application/x-www-form-urlencoded`` and ``multipart/form-data`` (RFC 7578).

Not by WebOb: its parser takes minutes over heads that are made for it, puts U+FFFD for what is no UTF-8, and raises
what no page foresees (C-ERR-8). Here every step is linear, and what cannot be read is a refusal. The library
``multipart`` takes the parts apart (``docs/adr/012-own-cookies-and-forms.md``).
"""

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, Final
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, PushMultipartParser, StrictParserError
from webob.request import DisconnectionError

from modhub.errors import ApiError, invalid

URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
READ_BYTES: Final = 256 * 1024
MAX_PART_HEADER: Final = 8 * 1024
"""Bytes that one header of a part may have; the parser takes eight of them."""
MAX_FORM_FIELDS: Final = 1000
"""Fields, or parts, that a form may have: each costs a parser far more than its bytes."""
_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)


def _broken() -> ApiError:
    return invalid("The form arrived incomplete. Submit it again.")


def _unreadable() -> ApiError:
    return invalid("The form could not be read.")


def media_type_of(content_type: str) -> str:
    """The media type alone, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def parse_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of a form without files, in their order; a body of any other type has none.

    It is UTF-8, whatever it claims; what is not is 400, as in JSON (C-ERR-11).
    """
    kind = media_type_of(content_type)
    try:
        if kind == URLENCODED:
            return _pairs(body)
        return _parts(content_type, body) if kind == MULTIPART else []
    except UnicodeDecodeError:
        raise invalid("The form is not valid UTF-8.") from None


def _pairs(body: bytes) -> list[tuple[str, str]]:
    if body.count(b"&") >= MAX_FORM_FIELDS:
        raise invalid("The form has too many fields.")
    return parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict")


def _parts(content_type: str, body: bytes) -> list[tuple[str, str]]:
    boundary = boundary_of(content_type)
    if boundary is None:
        raise _unreadable()
    found, parts = [], MultipartReader(io.BytesIO(body), boundary)
    while parts.next():
        if parts.file_name is not None:
            raise _unreadable()
        value = b"".join(iter(lambda: parts.read(READ_BYTES), b""))
        found.append((parts.name, value.decode("utf-8")))
    return found


def boundary_of(content_type: str) -> bytes | None:
    """What parts the parts; None where nothing is said of it."""
    found = _BOUNDARY.search(content_type)
    return None if found is None else (found[1] or found[2]).encode("utf-8", "replace")


class MultipartReader:
    """The parts of a multipart body, one after the other; ``read`` reads the current one."""

    def __init__(self, stream: BinaryIO, boundary: bytes) -> None:
        self._events = _parse(stream, boundary)
        self._data = memoryview(b"")
        self._in_part = False
        self._left = MAX_FORM_FIELDS
        self.name = ""
        self.file_name: str | None = None
        self.content_type: str | None = None

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes of the current part; ``b""`` at its end."""
        if not self._data and self._in_part:
            # A part's bytes are followed by None.
            data = next(self._events)
            self._in_part = isinstance(data, bytes)
            self._data = memoryview(data if isinstance(data, bytes) else b"")
        taken = bytes(self._data[:size])
        self._data = self._data[len(taken) :]
        return taken

    def next(self) -> bool:
        """Go to the next part; False behind the last one."""
        while self.read(READ_BYTES):
            pass
        segment = next(self._events, None)
        if not isinstance(segment, MultipartSegment):
            return False
        self._left -= 1
        if self._left < 0:
            raise invalid("The form has too many fields.")
        self._in_part = True
        self.name, self.file_name = segment.name or "", segment.filename
        self.content_type = segment.header("Content-Type")
        return True


def _parse(stream: BinaryIO, boundary: bytes) -> Iterator[MultipartSegment | bytes | None]:
    """The parser's events: for each part its head, its bytes in blocks, and None."""
    parser = PushMultipartParser(boundary, max_header_size=MAX_PART_HEADER, strict=True)
    try:
        try:
            yield from parser.parse_blocking(stream.read, READ_BYTES)
        except StrictParserError:
            # Text behind the last boundary is refused or not, as the blocks fall. It is no matter: this raises unless
            # the form itself was complete.
            parser.close()
    except (MultipartError, DisconnectionError):
        raise _broken() from None
