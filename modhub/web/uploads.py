"""Stage the body of an upload request: the first step of every upload view."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modhub.base.errors import RunAgain, invalid
from modhub.blobs.data_manager import stage
from modhub.blobs.store import Blob, Readable
from modhub.plugins.events import UploadStarted
from modhub.web.payload import raw_stream

SNIFF_BYTES: Final = 1024
"""Bytes at the beginning of a file by which its type is recognised."""


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A staged upload, its first bytes, and as many of its last as were asked for."""

    blob: Blob
    head: bytes
    end: bytes


class PeekedStream:
    """A stream whose first bytes, its ``head``, are known before it is read."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self.head = self._unread = source.read(SNIFF_BYTES)

    def read(self, size: int, /) -> bytes:
        """Read from the beginning."""
        chunk, self._unread = self._unread[:size], self._unread[size:]
        return chunk or self._source.read(size)


class _SeenStream:
    """A stream of which others see all that is read."""

    def __init__(self, source: Readable, see: Sequence[Callable[[bytes], object]]) -> None:
        self._source = source
        self._see = see

    def read(self, size: int, /) -> bytes:
        """Read, and let them see it."""
        chunk = self._source.read(size)
        if chunk:
            for see in self._see:
                see(chunk)
        return chunk


class _KeptEnd:
    """The last ``size`` bytes of what it sees."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._length = 0
        self._chunks = deque[bytes]()

    def see(self, chunk: bytes) -> None:
        """Keep it; what comes too long before the end is dropped."""
        self._chunks.append(chunk)
        self._length += len(chunk)
        while self._length - len(self._chunks[0]) >= self._size:
            self._length -= len(self._chunks.popleft())

    def end(self) -> bytes:
        """Return at most ``size`` bytes."""
        return b"".join(self._chunks)[-self._size :]


def stage_with_end(request: Any, source: Readable, limit: int, size: int) -> tuple[Blob, bytes]:
    """Stage a file as :func:`stage_upload`; return its last ``size`` bytes too, which are not read again."""
    kept = _KeptEnd(size)
    blob = stage_upload(request, _SeenStream(source, [kept.see] if size else []), limit)
    return blob, kept.end()


def stage_upload(request: Any, source: Readable, limit: int) -> Blob:
    """Stage a file that the caller sends in the request's transaction, as :func:`modhub.blobs.stage` does.

    The inspections that features begin see what is stored, chunk by chunk, and may refuse it. Call it before the
    session's first statement: no lock may wait for a slow disk or a scanner (ADR 003).
    """
    started = UploadStarted(request)
    try:
        request.registry.notify(started)
        watched = _SeenStream(source, [inspection.see for inspection in started.inspections])
        blob = stage(request.tm, request.store, watched, limit)
        for inspection in started.inspections:
            inspection.finish(blob)
    finally:
        for inspection in started.inspections:
            inspection.close()
    return blob


def receive_upload(request: Any, limit: int, end: int = 0) -> ReceivedUpload:
    """Stage the request body by :func:`stage_with_end`. 413 above ``limit`` bytes, 400 if empty or a form."""
    try:
        stream = PeekedStream(raw_stream(request, limit))
    except RunAgain:
        _ = request.store  # Without one that is said now, not after the body (C-ERR-20).
        raise
    if not stream.head:
        raise invalid("The body is empty. Send the file itself as the body.")
    blob, last = stage_with_end(request, stream, limit, end)
    return ReceivedUpload(blob, stream.head, last)
