"""Forms with a file (RFC 7578), read as a stream: neither in memory nor copied to disk on the way to the file store.

The small fields stand before the file in our forms. :class:`Form` reads them, checks the token, and hands out the file
as a stream for :func:`modhub.blobs.stage`.
"""

import re
from typing import BinaryIO, Final

from webob.request import DisconnectionError

from modhub.errors import Refusal, invalid, too_large
from modhub.pages.forms import TOKEN, check_token
from modhub.payload import LIMIT_EXCEEDED, body_stream
from modhub.request import Request

CHUNK: Final = 256 * 1024
HEAD: Final = 8 * 1024
"""Bytes that the headers of one part may have."""
HEAD_OF_FILE: Final = 1024
FIELDS: Final = 64 * 1024
"""Bytes that all fields before the file may have together."""
PARTS: Final = 1000
"""Parts that a form may have: an empty one costs nothing of the other limits, and a parser all the same."""
OVERHEAD: Final = 2 * FIELDS
"""What a body may have beyond its file."""
_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_PARAMETER = re.compile(r'([\w-]+)="((?:\\"|[^"])*)"')


def _broken() -> Refusal:
    return invalid("The form arrived incomplete; send it once more.")


class Parts:
    """The parts of a multipart body, one after the other; ``read`` reads the current one."""

    def __init__(self, stream: BinaryIO, boundary: bytes) -> None:
        self._stream = stream
        self._mark = b"\r\n--" + boundary
        # The first boundary has no line end before it.
        self._buffer = bytearray(b"\r\n")
        self._left = PARTS
        self.name = ""
        self.file_name: str | None = None
        self.content_type: str | None = None

    def _fill(self) -> None:
        try:
            more = self._stream.read(CHUNK)
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
        while self.read(CHUNK):
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
            if len(self._buffer) > HEAD + CHUNK:
                raise _broken()
            self._fill()
        if end > HEAD:
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


class Form:
    """A streamed form whose files may have ``limit`` bytes in all. The token is checked before a file is looked at.

    ``fields`` is filled as the fields are read, so that they are known also where the form is refused. The form reads
    as its first file; :meth:`next_file` goes on.
    """

    def __init__(self, request: Request, limit: int, fields: dict[str, str] | None = None) -> None:
        found = _BOUNDARY.search(request.environ.get("CONTENT_TYPE", ""))
        self.limit = limit
        if request.environ.get(LIMIT_EXCEEDED) is not None or (request.content_length or 0) > limit + OVERHEAD:
            raise too_large(limit)
        if found is None:
            raise invalid("This form must be sent as multipart/form-data.")
        stream = body_stream(request, limit + OVERHEAD)
        self._parts = Parts(stream, (found[1] or found[2]).encode("utf-8", "replace"))
        self.fields: dict[str, str] = {} if fields is None else fields
        self._read_fields()
        check_token(request, self.fields.get(TOKEN, ""))
        self.head = b""
        """The first bytes of the file, which show what it is; empty where no file came, or an empty one."""
        self._unread = b""
        self._begin()

    def _begin(self) -> None:
        self.head = self._unread = self._parts.read(HEAD_OF_FILE) if self.file_name is not None else b""

    def next_file(self) -> bool:
        """Go to the next file; False behind the last one. Fields behind a file are passed over."""
        while self._parts.next():
            if self._parts.file_name:
                self._begin()
                return True
        return False

    def _read_fields(self) -> None:
        left = FIELDS
        while self._parts.next():
            if self._parts.file_name is not None:
                return
            value = bytearray()
            while more := self._parts.read(CHUNK):
                value += more
                if len(value) > left:
                    raise too_large(self.limit)
            left -= len(value)
            self.fields[self._parts.name] = value.decode("utf-8", "replace")
        self._parts.file_name = None

    @property
    def file_name(self) -> str | None:
        """The file's name as sent; None where no file came."""
        return self._parts.file_name or None

    @property
    def content_type(self) -> str | None:
        """The file's type as sent."""
        return self._parts.content_type

    def read(self, size: int, /) -> bytes:
        """The bytes of the file, from its beginning."""
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken or self._parts.read(size)
