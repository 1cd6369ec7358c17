"""How one connection gives its answer to the socket."""

import logging
import socket
from time import monotonic
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer

from modhub.server.files import send_file

SEND_BYTES = 262144
"""Read from a file and given to the socket at a time."""
TURN_BYTES = 16 * SEND_BYTES
"""Written to one connection before the loop looks at the others."""


class SendingMixin:
    """The part of the channel that writes what its buffers hold."""

    socket: socket.socket
    outbufs: list[Any]
    total_outbufs_len: int
    will_close: bool
    sent_at: float
    sent_bytes: int
    logger: logging.Logger

    def _flush_some(self, do_close: bool = True) -> bool:
        """Write until the socket is full, or for one turn; whether anything was written."""
        left = TURN_BYTES
        while left > 0:
            outbuf = self.outbufs[0]
            size = outbuf.__len__()
            if size > 0:
                sent = self._send_some(outbuf, min(size, SEND_BYTES), do_close)
                if not sent:
                    break
                outbuf.skip(sent, True)
                self.total_outbufs_len -= sent
                left -= sent
            elif len(self.outbufs) > 1:
                self.outbufs.pop(0).close()
            else:
                break
        if left == TURN_BYTES:
            return False
        self.sent_at = monotonic()
        self.sent_bytes += TURN_BYTES - left
        return True

    def _send_some(self, outbuf: Any, size: int, do_close: bool) -> int:
        try:
            sent = send_file(self.socket, outbuf, size) if isinstance(outbuf, ReadOnlyFileBasedBuffer) else None
        except ConnectionError:
            if do_close:
                self.handle_close()  # type: ignore[attr-defined]
            return 0
        if sent is not None:
            return sent
        chunk = outbuf.get(size)
        if not chunk:
            raise OSError("a file that was being sent has become shorter")
        return int(self.send(chunk, do_close=do_close))  # type: ignore[attr-defined]

    def _flush_exception(self, flush: Any, do_close: bool = True) -> tuple[bool, bool]:
        try:
            return flush(do_close=do_close), False
        except Exception as error:  # noqa: BLE001
            self.logger.error("connection closed, its answer could not be sent: %r", error)
            self.will_close = True
            return False, True
