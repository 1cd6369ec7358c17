"""The chunked transfer coding, read strictly and in bounded memory and time (RFC 9112, 7.1; T-D1)."""

import re
from typing import Any

from modhub.server.protocol_errors import malformed_request

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"'
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?)*")
_TRAILER_LINE = re.compile(_TOKEN + rb":[\t \x21-\x7e\x80-\xff]*")

_MAX_LINE = 1024
_MAX_TRAILERS = 8192
_FREE_OVERHEAD = 65536


class ChunkedBody:
    """Decodes the raw stream into ``buffer`` (waitress's receiver interface).

    waitress's own copies the rest of the data once per chunk and limits neither lines nor trailers: a client that sends
    one byte per chunk stalls its loop. Here each `received` appends once, and framing is limited to 64 KB plus a
    quarter of the content.
    """

    error = None

    def __init__(self, buffer: Any) -> None:
        self.completed = False
        self._buffer = buffer
        self._line = b""
        self._chunk_left = 0
        self._after_data = False
        self._in_trailers = False
        self._trailer_bytes = 0
        self._content_bytes = 0
        self._framing_bytes = 0

    def __len__(self) -> int:
        return self._content_bytes

    def received(self, data: bytes) -> int:
        """Decode ``data``; returns how many of its bytes belong to this body. `ProtocolError` if malformed."""
        chunks: list[bytes] = []
        position = 0
        while position < len(data) and not self.completed:
            if self._chunk_left:
                chunk = data[position : position + self._chunk_left]
                chunks.append(chunk)
                position += len(chunk)
                self._chunk_left -= len(chunk)
                self._content_bytes += len(chunk)
                self._after_data = not self._chunk_left
            else:
                position = self._take_line(data, position)
        if chunks:
            self._buffer.append(b"".join(chunks))
        return position

    def getfile(self) -> Any:
        """The content as a seekable file."""
        return self._buffer.getfile()

    def getbuf(self) -> Any:
        """The buffer, for the request to close."""
        return self._buffer

    def _take_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position) + 1 or len(data)
        line = self._line + data[position:end]
        self._framing_bytes += end - position
        if len(line) > _MAX_LINE or self._framing_bytes > _FREE_OVERHEAD + self._content_bytes // 4:
            raise malformed_request("The chunked body has more framing than content.")
        if not line.endswith(b"\n"):
            self._line = line
        else:
            self._line = b""
            if not line.endswith(b"\r\n"):
                raise malformed_request("A line of the chunked body ends in a bare LF.")
            self._end_line(line[:-2])
        return end

    def _end_line(self, line: bytes) -> None:
        if self._after_data:
            if line:
                raise malformed_request("A chunk is longer than its size says.")
            self._after_data = False
        elif self._in_trailers:
            self._trailer_bytes += len(line)
            self.completed = not line
            if line and not (_TRAILER_LINE.fullmatch(line) and self._trailer_bytes <= _MAX_TRAILERS):
                raise malformed_request("A trailer of the chunked body is malformed or too long.")
        else:
            match = _SIZE_LINE.fullmatch(line)
            if match is None:
                raise malformed_request("A chunk size or a chunk extension is malformed.")
            self._chunk_left = int(match[1], 16)
            self._in_trailers = not self._chunk_left
