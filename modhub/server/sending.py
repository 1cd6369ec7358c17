"""Writes the responses of one connection to the socket."""

import logging
import socket
from time import monotonic
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.channel import ClientDisconnected, HTTPChannel

from modhub.base.repeated_lines import log_alarm
from modhub.server.files import send_file

logger = logging.getLogger("modhub.server")
SEND_BYTES = 262144
"""Bytes read from a file and passed to the socket at a time."""
TURN_BYTES = 16 * SEND_BYTES
"""Bytes written to one connection before the loop serves the others."""


class SendingChannel(HTTPChannel):
    """The part of the channel that writes its output buffers: from a worker while it can, then from the loop."""

    prefix = b""
    """Goes before what is written next."""
    sent_at: float
    sent_bytes: int
    worker_sends = False
    """Whether a worker writes to the socket at this moment."""

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.sent_at = monotonic()
        super().__init__(server, sock, addr, adj, map=map)
        self.sendbuf_len = SEND_BYTES

    def writable(self) -> bool:
        """Whether the loop should write or close."""
        if self.worker_sends:
            # The worker has the lock, and the socket is ready: the loop would ask again and again until it is done.
            return bool(self.will_close)
        return bool(super().writable())

    def write_soon(self, data: Any) -> int:
        """See waitress; ``prefix`` goes before ``data``. The write deadline starts with the first byte that waits."""
        if self.prefix:
            data, self.prefix = self.prefix + data, b""
        if not self.total_outbufs_len:
            self.sent_at = monotonic()
        self.worker_sends = True
        try:
            size = len(data)
            rest = self._send_at_once(data) if data and isinstance(data, bytes) else data
            if rest:
                self._buffer(rest)
            return size
        finally:
            self.worker_sends = False
            if self.total_outbufs_len:
                self.server.pull_trigger()  # the loop sends the rest

    def _send_at_once(self, data: bytes) -> bytes:
        """Send what the socket takes of ``data`` and return the rest, for the buffer: a file, if that is long."""
        with self.outbuf_lock:
            if self.total_outbufs_len or not self.connected:
                return data
            try:
                count = int(self.send(data, do_close=False))
            except OSError:
                return data  # the buffer meets the same error
            self.sent_at = monotonic()
            self.sent_bytes += count
        return data[count:]

    def _buffer(self, data: Any) -> None:
        """Leave ``data`` to the loop: in memory if no temporary file takes it, as on a full disk."""
        with self.outbuf_lock:
            try:
                super().write_soon(data)
            except OSError as error:
                message = "a response cannot be written to the temporary folder (%s)"
                log_alarm(logger, message, error.strerror)
                if sum(map(len, self.outbufs)) != self.total_outbufs_len + len(data):
                    self.will_close = True  # the file that has the beginning lacks the rest
                    raise ClientDisconnected from None
                self.current_outbuf_count += len(data)
                self.total_outbufs_len += len(data)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """See waitress: wait until the loop has sent some of it."""
        was_sending, self.worker_sends = self.worker_sends, False
        super()._flush_outbufs_below_high_watermark()
        self.worker_sends = was_sending

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
                self.handle_close()
            return 0
        if count is not None:
            return count
        chunk = outbuf.get(size)
        if not chunk:
            raise OSError("a file that was being sent has become shorter")
        return int(self.send(chunk, do_close=do_close))

    def _flush_exception(self, flush: Any, do_close: bool = True) -> tuple[bool, bool]:
        try:
            return flush(do_close=do_close), False
        except Exception as error:  # noqa: BLE001
            self.logger.error("connection closed, its response could not be sent: %r", error)
            self.will_close = True
            return False, True
