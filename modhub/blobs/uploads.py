"""An upload's body, from the request into the store: what every upload view does first."""

import io
from dataclasses import dataclass
from typing import Any, Final

from webob.request import DisconnectionError

from modhub.blobs.data_manager import stage
from modhub.blobs.store import Blob
from modhub.errors import invalid
from modhub.payload import raw_stream

SNIFF_BYTES: Final = 1024
"""Bytes from the beginning of a file that show what it is."""


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A staged upload and its first bytes."""

    blob: Blob
    head: bytes


class _Whole:
    """A stream whose beginning has been read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """The beginning first. A sender who hangs up is a 400, not a fault of the store."""
        try:
            return self._head.read(size) or self._rest.read(size)
        except DisconnectionError as problem:
            raise invalid("The body ended before its Content-Length.") from problem


def receive_upload(request: Any, limit: int) -> ReceivedUpload:
    """Stage the request's body as a part of its transaction; at most ``limit`` bytes (413), not empty, no form (400).

    Call it before the session's first statement: a slow disk must not hold a lock (docs/adr/003-files-before-locks.md).
    """
    stream = raw_stream(request, limit)
    head = _Whole(b"", stream).read(SNIFF_BYTES)
    if not head:
        raise invalid("The body is empty; the file is sent as the body itself.")
    return ReceivedUpload(stage(request.tm, request.store, _Whole(head, stream), limit), head)
