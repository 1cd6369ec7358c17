"""The bodies of forms: ``application/x-www-form-urlencoded`` and ``multipart/form-data`` (RFC 7578).

Not by WebOb: its parser takes minutes over heads that are made for it, puts U+FFFD for what is no UTF-8, and raises
what no page foresees (C-ERR-8). Here every step is linear, and what cannot be read is a refusal.
"""

import io
import re
from typing import BinaryIO, Final
from urllib.parse import parse_qsl

from webob.request import DisconnectionError

from modhub.errors import ApiError, invalid

URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
READ_BYTES: Final = 256 * 1024
MAX_PART_HEAD: Final = 8 * 1024
"""Bytes that the headers of one part may have."""
MAX_FORM_FIELDS: Final = 1000
"""Fields, or parts, that a form may have: each costs a parser far more than its bytes."""
_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
# A name begins where no name goes on: without that a long run is looked through once for each of its characters.
_PARAMETER = re.compile(r'(?<![\w-])([\w-]+)="((?:\\"|[^"])*)"')


def _broken() -> ApiError:
    return invalid("The form arrived incomplete; send it once more.")


def _unreadable() -> ApiError:
    return invalid("The form cannot be read.")


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
        raise invalid("The form is not UTF-8.") from None


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
        self._stream = stream
        self._mark = b"\r\n--" + boundary
        # The first boundary has no line end before it.
        self._buffer = bytearray(b"\r\n")
        self._left = MAX_FORM_FIELDS
        self.name = ""
        self.file_name: str | None = None
        self.content_type: str | None = None

    def _fill(self) -> None:
        try:
            more = self._stream.read(READ_BYTES)
        except DisconnectionError:
            raise _broken() from None
        if not more:
            raise _broken()
        self._buffer += more

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes of the current part; ``b""`` at its end."""
        while True:
            at = self._buffer.find(self._mark)
            # What may be the beginning of the mark is kept back.
            ready = at if at >= 0 else len(self._buffer) - len(self._mark) + 1
            if ready > 0:
                taken = bytes(self._buffer[: min(ready, size)])
                del self._buffer[: len(taken)]
                return taken
            if at == 0:
                return b""
            self._fill()

    def next(self) -> bool:
        """Go to the next part; False behind the last one."""
        while self.read(READ_BYTES):
            pass
        del self._buffer[: len(self._mark)]
        while len(self._buffer) < 2:
            self._fill()
        if self._buffer.startswith(b"--"):
            return False
        self._left -= 1
        if self._left < 0:
            raise invalid("The form has too many fields.")
        self._head()
        return True

    def _head(self) -> None:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_PART_HEAD + READ_BYTES:
                raise _broken()
            self._fill()
        if end > MAX_PART_HEAD:
            raise _broken()
        lines = bytes(self._buffer[:end]).decode("utf-8", "replace").split("\r\n")
        del self._buffer[: end + 4]
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        found = {
            key.lower(): _plain(value) for key, value in _PARAMETER.findall(headers.get("content-disposition", ""))
        }
        self.name = found.get("name", "")
        self.file_name = found.get("filename")
        self.content_type = headers.get("content-type")


def _plain(value: str) -> str:
    """A parameter as browsers write it (RFC 7578, 4.2; the HTML standard escapes quotes by percent)."""
    return value.replace('\\"', '"').replace("%22", '"')
