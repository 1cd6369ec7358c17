"""Forms with files (RFC 7578), streamed to the file store without a copy in memory or on disk.

In our forms the small fields come before the file. :class:`UploadForm` reads them, checks the token, and is itself the
stream of the file for :func:`modhub.blobs.stage`.
"""

import io
from typing import Final

from modhub.base.errors import invalid, too_large
from modhub.ui.forms import CSRF_FIELD, check_token
from modhub.web.forms import MultipartReader, boundary_of, decode_field
from modhub.web.payload import LIMIT_EXCEEDED, body_stream
from modhub.web.request import Request
from modhub.web.uploads import PeekedStream

FIELD: Final = 32 * 1024
"""Bytes read of each field before the file; longer text is truncated, not rejected (C-UP-11)."""
MAX_FIELDS: Final = 4 * FIELD
"""Bytes read of all these fields together: the captions of some hundred images."""
OVERHEAD: Final = 2 * MAX_FIELDS
"""Bytes that a body may have besides its files."""


class UploadForm:
    """A streamed form whose files have at most ``limit`` bytes in total. The token is checked before any file.

    ``fields`` is filled while reading, so that the caller has them even if the form is rejected. :meth:`read` reads the
    first file; :meth:`next_file` moves on.
    """

    def __init__(self, request: Request, limit: int, fields: dict[str, str] | None = None) -> None:
        boundary = boundary_of(request.environ.get("CONTENT_TYPE", ""))
        self.limit = limit
        if request.environ.get(LIMIT_EXCEEDED) is not None or (request.content_length or 0) > limit + OVERHEAD:
            raise too_large(limit)
        if boundary is None:
            raise invalid("This form must be sent as multipart/form-data.")
        stream = body_stream(request, limit + OVERHEAD)
        self._reader = MultipartReader(stream, boundary)
        self.fields: dict[str, str] = {} if fields is None else fields
        self._read_fields()
        check_token(request, self.fields.get(CSRF_FIELD, ""))
        self._start_file()

    def _start_file(self) -> None:
        self._file = PeekedStream(io.BytesIO() if self.file_name is None else self._reader)

    def next_file(self) -> bool:
        """Move to the next file; False after the last one. Fields after a file are skipped."""
        while self._reader.next():
            if self._reader.file_name:
                self._start_file()
                return True
        return False

    def _read_fields(self) -> None:
        left = MAX_FIELDS
        while self._reader.next():
            if self._reader.file_name is not None:
                return
            value, is_cut = self._reader.read_field(min(left, FIELD))
            left -= len(value)
            if not left:
                raise invalid("The form has too many fields.")
            self.fields[self._reader.name] = decode_field(value, is_cut=is_cut)
        self._reader.file_name = None

    @property
    def head(self) -> bytes:
        """The first bytes of the file, for detecting its type; empty if there is no file or it is empty."""
        return self._file.head

    @property
    def file_name(self) -> str | None:
        """The file name as sent; None if there is no file."""
        return self._reader.file_name or None

    @property
    def content_type(self) -> str | None:
        """The content type of the file as sent."""
        return self._reader.content_type

    def read(self, size: int, /) -> bytes:
        """Read the current file from its beginning."""
        return self._file.read(size)
