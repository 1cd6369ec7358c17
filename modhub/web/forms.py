"""Form bodies: ``application/x-www-form-urlencoded`` and ``multipart/form-data`` (RFC 7578).

Not parsed by WebOb: its parser takes minutes over crafted part headers, replaces invalid UTF-8 by U+FFFD, and raises
exceptions that no page expects (C-ERR-8). Here every step is linear, and malformed input is an `ApiError`. The library
``multipart`` splits the parts; uploads are streamed through the same reader. A form that is not UTF-8 is 400, like
JSON; so is a part without a name, one with folded headers, and text before the first boundary. Text after the last one
is ignored: whether the parser sees it depends on how the body was split. Once WebOb is linear and strict, this can go.
"""

import codecs
import io
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from multipart import MultipartError, MultipartSegment, PushMultipartParser, StrictParserError
from webob.request import DisconnectionError

from modhub.base.errors import ApiError, invalid

URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
READ_BYTES: Final = 256 * 1024
MAX_FORM_FIELDS: Final = 1000
"""Limit of fields, or parts, of a form: each costs a parser far more than its bytes."""
MAX_NAME: Final = 1024
"""Bytes that are read of a field's name, as sent."""
MAX_FIELD: Final = 256 * 1024
"""Bytes that are read of a field, as sent; the rest is cut off. Only longer forms (`LONG_FIELDS`) can have more."""
MAX_TEXT: Final = 1024 * 1024
"""Bytes that are read of all fields of a form together: decoding and cleaning text costs far more than receiving it."""
_ESCAPES: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_CUT_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]?\Z")
_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)


def _unreadable_form() -> ApiError:
    return invalid("The form could not be read.")


def media_type_of(content_type: str) -> str:
    """The media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def parse_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of a form without files, in order; empty for a body of any other type.

    Always read as UTF-8, whatever the type claims; anything else is 400, as in JSON (C-ERR-10).
    """
    media_type = media_type_of(content_type)
    if media_type == URLENCODED:
        return _urlencoded_fields(body)
    return _multipart_fields(content_type, body) if media_type == MULTIPART else []


def _urlencoded_fields(body: bytes) -> list[tuple[str, str]]:
    if body.count(b"&") >= MAX_FORM_FIELDS:
        raise invalid("The form has too many fields.")
    fields, left = [], MAX_TEXT
    for pair in filter(None, body.split(b"&")):
        name, _, value = pair.partition(b"=")
        limit = min(left, MAX_FIELD)
        fields.append((_unquote(name, MAX_NAME), _unquote(value, limit)))
        left -= min(len(value), limit)
    return fields


def _unquote(encoded: bytes, limit: int) -> str:
    is_cut = len(encoded) > limit
    if is_cut:
        encoded = _CUT_ESCAPE.sub(b"", encoded[:limit])
    # In runs: unquoting escapes one by one takes seconds, and so does looking at each % that begins none.
    value = _ESCAPES.sub(lambda run: bytes.fromhex(run[0].replace(b"%", b"").decode()), encoded.replace(b"+", b" "))
    return decode_field(value, is_cut=is_cut)


def decode_field(value: bytes, *, is_cut: bool) -> str:
    """Decode the bytes of a field; one that was cut off may end within a character. 400 if it is not UTF-8."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(value, final=not is_cut)
    except UnicodeDecodeError:
        raise invalid("The form is not valid UTF-8.") from None


def _multipart_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    boundary = boundary_of(content_type)
    if boundary is None:
        raise _unreadable_form()
    fields, left, reader = [], MAX_TEXT, MultipartReader(io.BytesIO(body), boundary)
    while reader.next():
        if reader.file_name is not None:
            raise _unreadable_form()
        value, is_cut = reader.read_field(min(left, MAX_FIELD))
        fields.append((reader.name, decode_field(value, is_cut=is_cut)))
        left -= len(value)
    return fields


def boundary_of(content_type: str) -> bytes | None:
    """The boundary between the parts; None if the type names none."""
    match = _BOUNDARY.search(content_type)
    return None if match is None else (match[1] or match[2]).encode("utf-8", "replace")


class MultipartReader:
    """Iterates over the parts of a multipart body; ``read`` reads the current one."""

    def __init__(self, stream: BinaryIO, boundary: bytes) -> None:
        self._events = _parse(stream, boundary)
        self._data = memoryview(b"")
        self._in_part = False
        self._parts_left = MAX_FORM_FIELDS
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
        chunk = bytes(self._data[:size])
        self._data = self._data[len(chunk) :]
        return chunk

    def read_field(self, limit: int) -> tuple[bytes, bool]:
        """Read the current part to its end; at most ``limit`` bytes of it, and whether there were more."""
        value = bytearray()
        while chunk := self.read(READ_BYTES):
            value += chunk[: limit + 1 - len(value)]
        return bytes(value[:limit]), len(value) > limit

    def next(self) -> bool:
        """Go to the next part; False after the last one."""
        while self.read(READ_BYTES):
            pass
        segment = next(self._events, None)
        if not isinstance(segment, MultipartSegment):
            return False
        self._parts_left -= 1
        if self._parts_left < 0:
            raise invalid("The form has too many fields.")
        self._in_part = True
        self.name, self.file_name = segment.name or "", segment.filename
        self.content_type = segment.header("Content-Type")
        return True


def _parse(stream: BinaryIO, boundary: bytes) -> Iterator[MultipartSegment | bytes | None]:
    """The parser's events: for each part its head, its bytes in blocks, then None."""
    parser = PushMultipartParser(boundary, strict=True)
    try:
        try:
            yield from parser.parse_blocking(stream.read, READ_BYTES)
        except StrictParserError:
            # Text after the last boundary may or may not be rejected, depending on block borders. It does not matter:
            # close() raises unless the form itself was complete.
            parser.close()
    except (MultipartError, DisconnectionError):
        raise invalid("The form arrived incomplete. Submit it again.") from None
