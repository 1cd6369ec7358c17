"""One connection: one request after the other, deadlines, and a close that lets the last response arrive."""

import logging
import socket
from time import monotonic
from typing import Any, Final

from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.utilities import Error

from modhub.base.errors import ApiError
from modhub.base.repeated_lines import log_alarm
from modhub.server.request import Request
from modhub.server.tasks import AppTask, ProtocolErrorTask

READ_BYTES: Final = 262144
"""Bytes read at a time of a file that is sent: about what the kernel takes of it (`UNSENT_BYTES`)."""
DISCARD_BYTES: Final = 128 * 1024 * 1024
"""Most bytes to read and discard after an early response, so that it arrives (C-ERR-19)."""
DISCARD_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
"""The same where the request was read to its end, and during a drain."""
GRACE_SECONDS: Final = 30.0
"""In each period of this length a body must keep the least rate."""
UNHURRIED_SECONDS: Final = 0.1
"""A request that has waited longer for a thread runs only if its caller is still there."""

logger = logging.getLogger("modhub.server")


class RequestTimeout(Error):
    """408"""

    code = 408
    reason = "Request Timeout"


class Channel(HTTPChannel):
    """waitress's channel, with at most one request in the hands of a worker.

    Pipelined requests wait unparsed in ``pending`` until the response is taken, so that unread responses do not pile
    up. Worker threads run `service`, and what tasks call; the loop's thread runs all the rest. All times are of
    `monotonic`.
    """

    parser_class = Request
    task_class = AppTask
    error_task_class = ProtocolErrorTask
    request: Any
    requests: list[Any]
    sendbuf_len: int
    pending = b""
    since: float | None = None
    """When the current request began, or its body was asked for; None if nothing of a request has arrived."""
    queued_at = 0.0
    """When the request was given to the threads."""
    has_served = False
    """Whether a request was answered here: until then a client has `header_seconds`, afterwards `channel_timeout`."""
    linger_seconds = 0.0
    """How long to read and discard what comes after the last response."""
    discarding = False
    discarded = 0
    _period: tuple[float, int] | None = None
    """When the period of a body began in which it must keep the least rate, and how many bytes had come by then."""

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.moved = monotonic()
        """When a byte last arrived or left."""
        super().__init__(server, sock, addr, adj, map=map)
        self.sendbuf_len = min(self.sendbuf_len, READ_BYTES)
        self.peer = adj.find_peer(addr)

    @property
    def busy(self) -> bool:
        """Whether a drain has to wait for this connection."""
        is_receiving = self.request is not None and self.request.headers_finished
        return bool(self.requests or self.total_outbufs_len or self.pending or self.discarding or is_receiving)

    # The loop's thread

    def readable(self) -> bool:
        """Whether to read: never ahead of a response, except to discard."""
        return self.discarding or bool(not self.pending and super().readable())

    def writable(self) -> bool:
        """Whether to write, or to go on with what is pending."""
        return not self.discarding and bool(super().writable() or (self.pending and not self.requests))

    def handle_write(self) -> None:
        """Write; once all is written, close the connection or take the next request."""
        super().handle_write()
        is_free = not (self.requests or self.total_outbufs_len or self.discarding)
        if self.pending and is_free and self.socket is not None:
            data, self.pending = self.pending, b""
            self.received(data)

    def _flush_some(self, do_close: bool = True) -> bool:
        try:
            has_sent = bool(super()._flush_some(do_close=do_close))
        except (OSError, ApiError) as error:  # an ApiError: the store cannot read a file that is being sent
            # Without the path, which the text of some errors has.
            reason = getattr(error, "strerror", None) or error.args[0]
            logger.warning("a connection is closed: its response could not be sent: %s", reason)
            self.will_close = True
            return False
        if has_sent:
            self.moved = monotonic()
        return has_sent

    def received(self, data: bytes) -> bool:
        """Parse ``data`` up to the end of one request; the rest waits."""
        self.moved = monotonic()
        if self.discarding:
            self.discarded += len(data)
            if self.discarded > DISCARD_BYTES:
                self.abort()
            return False
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            if self.since is None:
                self.since = self.moved
            while data and not self.requests:
                data = self._parse(data)
            self.pending = data
        return True

    def _parse(self, data: bytes) -> bytes:
        """Feed ``data`` to the current request and return what is left of it."""
        request = self.request = self.request or self.parser_class(self.adj)
        rest = data[request.received(data) :]
        if request.completed:
            self._finish_receiving(request)
        elif request.asks and not rest:
            self._queue(request.without_body())
        elif request.expect_continue and request.headers_finished and not self.sent_continue:
            self.send_continue()
        return rest

    def _finish_receiving(self, request: Any) -> None:
        self.request = None
        if not request.empty:  # empty lines before a request do not put its deadline off
            self.since = self._period = None
            self.sent_continue = False
            self._queue(request)

    def _queue(self, request: Any) -> None:
        self.queued_at = monotonic()
        self.requests.append(request)
        self.server.add_task(self)

    def send_continue(self) -> None:
        """Tell the client to send the body. The loop writes it, unlike waitress: a worker must not write beside it."""
        content = b"HTTP/1.1 100 Continue\r\n\r\n"
        self.request.expect_continue = False
        with self.outbuf_lock:
            self.outbufs[-1].append(content)
            self.current_outbuf_count += len(content)
            self.total_outbufs_len += len(content)
            self.sent_continue = True

    def check(self, now: float) -> None:
        """Enforce the deadlines."""
        if self.discarding:
            seconds = min(self.linger_seconds, LINGER_SECONDS) if self.server.draining else self.linger_seconds
            if self.since is None or now - self.since > seconds:
                self.abort()
        elif self.total_outbufs_len:
            if now - self.moved > self.adj.write_seconds:
                self.abort()
        elif self.requests:
            pass
        elif self.since is None:
            if now - self.moved > (self.adj.channel_timeout if self.has_served else self.adj.header_seconds):
                self.abort()
        elif self._is_slow(now, self.since):
            with self.requests_lock:
                request = self.request or self.parser_class(self.adj)
                request.fail(RequestTimeout("The request came too slowly."))
                self._finish_receiving(request)

    def _is_slow(self, now: float, since: float) -> bool:
        """Whether the head or the body that is being received takes too long."""
        if self.request is None or not self.request.headers_finished:
            return now - since > float(self.adj.header_seconds)
        began, count = self._period = self._period or (since, 0)
        if now - began <= GRACE_SECONDS:
            return False
        received = self.request.body_bytes_received
        self._period = now, received
        return bool(received - count < self.adj.body_min_rate * (now - began))

    def handle_expt(self) -> None:
        """Close on urgent data: it has no meaning here, and if left unread it would wake the loop endlessly."""
        self.abort()

    def handle_close(self) -> None:
        """Close; where something may still come, end our side and discard it first, so that the response arrives."""
        if self.linger_seconds and not self.discarding and self.connected:
            self.will_close, self.discarding, self.since = False, True, monotonic()
            if self.request is not None:  # refused before its body had come
                self.request.close()
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.abort()
            return
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        if self.request is not None:
            self.request.close()
        if self.socket is not None:
            super().handle_close()

    # Worker threads

    def write_soon(self, data: Any) -> int:
        """As waitress's; where the temporary folder is full, what waits stays in memory (T-F-2)."""
        try:
            return int(super().write_soon(data))
        except OSError as error:
            buffer = self.outbufs[-1]
            log_alarm(logger, "a response cannot be written to the temporary folder (%s)", error.strerror)
            if isinstance(data, ReadOnlyFileBasedBuffer) or buffer.overflowed:
                raise ClientDisconnected from None  # logged, and the connection ends
            # The buffer has taken the data before it tried to become a file.
            with self.outbuf_lock:
                self.current_outbuf_count += len(data)
                self.total_outbufs_len += len(data)
            self.server.pull_trigger()
            return len(data)

    def check_client_disconnected(self) -> bool:
        """Whether the caller has gone (the environ's ``waitress.client_disconnected``).

        One that has only closed its sending side cannot be told from one that left.
        """
        try:
            return not bool(self.connected and self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False
        except (OSError, AttributeError):  # the loop has closed it
            return True

    def service(self) -> None:
        """Run the request, unless it had to wait for a thread and its caller has left meanwhile (T-D22)."""
        if not self.requests[0].is_large and self.server.task_dispatcher.is_known_large(self.requests[0]):
            self.server.add_task(self)  # known since it was queued
            return
        if monotonic() - self.queued_at > UNHURRIED_SECONDS and self.check_client_disconnected():
            with self.requests_lock:
                for request in self.requests:
                    request.close()
                self.requests = []
                self.will_close = True
            self.server.pull_trigger()
            return
        super().service()
        self.moved, self.has_served = monotonic(), True

    def linger(self, *, is_early: bool) -> None:
        """The response is the last one; ``is_early``: a part of the request may still be on its way."""
        self.linger_seconds = DISCARD_SECONDS if is_early else LINGER_SECONDS

    def read_body(self) -> None:
        """The application wants the body: its time begins now."""
        self.since, self._period = monotonic(), None
        if self.request is not None:
            self.request.expect_continue = self.request.held_back

    def run_again(self) -> None:
        """The application wants the thread of large responses."""
        request = self.requests[0]
        if not request.is_large:
            self.server.task_dispatcher.note_large(request)
            request.run_again()
            self.queued_at = monotonic()
            with self.requests_lock:
                self.requests.insert(1, request)
