"""Writes the responses of one connection to the socket."""

import logging
import socket
from time import monotonic
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer

from modhub.server.files import send_file

SEND_BYTES = 262144
"""Bytes read from a file and passed to the socket at a time."""
TURN_BYTES = 16 * SEND_BYTES
"""Bytes written to one connection before the loop serves the others."""


class SendingMixin:
    """The part of the channel that writes its output buffers."""

    socket: socket.socket
    outbufs: list[Any]
    total_outbufs_len: int
    will_close: bool
    sent_at: float
    sent_bytes: int
    logger: logging.Logger

    def _flush_some(self, do_close: bool = True) -> bool:
        """Write until the socket is full, or for one turn; returns whether anything was written."""
        remaining = TURN_BYTES
        while remaining > 0:
            outbuf = self.outbufs[0]
            size = outbuf.__len__()
            if size > 0:
                count = self._send_some(outbuf, min(size, SEND_BYTES), do_close)
                if not count:
                    break
                outbuf.skip(count, True)
                self.total_outbufs_len -= count
                remaining -= count
            elif len(self.outbufs) > 1:
                self.outbufs.pop(0).close()
            else:
                break
        if remaining == TURN_BYTES:
            return False
        self.sent_at = monotonic()
        self.sent_bytes += TURN_BYTES - remaining
        return True

    def _send_some(self, outbuf: Any, size: int, do_close: bool) -> int:
        try:
            count = send_file(self.socket, outbuf, size) if isinstance(outbuf, ReadOnlyFileBasedBuffer) else None
        except ConnectionError:
            if do_close:
                self.handle_close()  # type: ignore[attr-defined]
            return 0
        if count is not None:
            return count
        chunk = outbuf.get(size)
        if not chunk:
            raise OSError("a file that was being sent has become shorter")
        return int(self.send(chunk, do_close=do_close))  # type: ignore[attr-defined]

    def _flush_exception(self, flush: Any, do_close: bool = True) -> tuple[bool, bool]:
        try:
            return flush(do_close=do_close), False
        except Exception as error:  # noqa: BLE001
            self.logger.error("connection closed, its response could not be sent: %r", error)
            self.will_close = True
            return False, True
