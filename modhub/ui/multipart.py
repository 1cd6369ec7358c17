"""Forms with a file (RFC 7578), read as a stream: neither in memory nor copied to disk on the way to the file store.

The small fields stand before the file in our forms. :class:`UploadForm` reads them, checks the token, and hands out the
file as a stream for :func:`modhub.blobs.stage`.
"""

import codecs
from typing import Final

from modhub.errors import invalid, too_large
from modhub.http.forms import READ_BYTES, MultipartReader, boundary_of
from modhub.payload import LIMIT_EXCEEDED, body_stream
from modhub.request import Request
from modhub.ui.forms import CSRF_FIELD, check_token

HEAD_OF_FILE: Final = 1024
FIELD: Final = 8 * 1024
"""Bytes that are kept of one field before the file: over-long text is trimmed, not refused (C-UP-11)."""
MAX_FIELDS: Final = 8 * FIELD
"""Bytes that are kept of all of them together."""
OVERHEAD: Final = 2 * MAX_FIELDS
"""What a body may have beyond its file."""


def _text(value: bytes, *, whole: bool) -> str:
    """The text of a field; one that was cut may end within a character."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(value, final=whole)
    except UnicodeDecodeError:
        raise invalid("The form is not valid UTF-8.") from None


class UploadForm:
    """A streamed form whose files may have ``limit`` bytes in all. The token is checked before a file is looked at.

    ``fields`` is filled as the fields are read, so that they are known also where the form is refused. The form reads
    as its first file; :meth:`next_file` goes on.
    """

    def __init__(self, request: Request, limit: int, fields: dict[str, str] | None = None) -> None:
        boundary = boundary_of(request.environ.get("CONTENT_TYPE", ""))
        self.limit = limit
        if request.environ.get(LIMIT_EXCEEDED) is not None or (request.content_length or 0) > limit + OVERHEAD:
            raise too_large(limit)
        if boundary is None:
            raise invalid("This form must be sent as multipart/form-data.")
        stream = body_stream(request, limit + OVERHEAD)
        self._parts = MultipartReader(stream, boundary)
        self.fields: dict[str, str] = {} if fields is None else fields
        self._read_fields()
        check_token(request, self.fields.get(CSRF_FIELD, ""))
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
        left = MAX_FIELDS
        while self._parts.next():
            if self._parts.file_name is not None:
                return
            value, room = bytearray(), min(left, FIELD)
            while more := self._parts.read(READ_BYTES):
                value += more[: room + 1 - len(value)]
            kept = bytes(value[:room])
            left -= len(kept)
            self.fields[self._parts.name] = _text(kept, whole=len(value) <= room)
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
