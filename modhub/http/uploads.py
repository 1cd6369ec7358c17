"""Stage the body of an upload request: the first step of every upload view."""

import io
from dataclasses import dataclass
from typing import Any, Final

from webob.request import DisconnectionError

from modhub.base.errors import invalid
from modhub.base.service_registry import find_optional_service
from modhub.blobs.data_manager import stage
from modhub.blobs.spooled import SpooledFile
from modhub.blobs.store import Blob, Readable
from modhub.blobs.timing import StoreTimes
from modhub.http.payload import FAILED, FILE, raw_stream

SNIFF_BYTES: Final = 1024
"""Bytes at the beginning of a file by which its type is recognised."""


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A staged upload and its first bytes."""

    blob: Blob
    head: bytes


class _PrefixedStream:
    """A stream whose first bytes have already been read."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """Return the first bytes, then the rest. 400 if the client disconnects."""
        try:
            return self._head.read(size) or self._rest.read(size)
        except DisconnectionError as error:
            raise invalid("The body ended before its Content-Length.") from error


def receive_upload(request: Any, limit: int) -> ReceivedUpload:
    """Stage the request body in the request's transaction. 413 above ``limit`` bytes, 400 if empty or a form.

    Call it before the session's first statement: no lock may wait for a slow disk (ADR 003).
    """
    if request.environ.get(FAILED) and (times := find_optional_service(request.registry, StoreTimes)) is not None:
        times.add_failure("stage")
    stream = raw_stream(request, limit)
    head = _PrefixedStream(b"", stream).read(SNIFF_BYTES)
    if not head:
        raise invalid("The body is empty. Send the file itself as the body.")
    source: Readable = _PrefixedStream(head, stream)
    if request.environ.get(FILE) is stream:
        stream.seek(0)
        source = SpooledFile(stream)
    return ReceivedUpload(stage(request.tm, request.store, source, limit), head)
