"""One connection: requests one after the other, deadlines, and a close that lets the last response arrive."""

import contextlib
import socket
from time import monotonic
from typing import Any

from waitress.channel import ClientDisconnected

from modhub.base.peers import peer_of_address
from modhub.server.deadlines import DeadlineMixin
from modhub.server.forwarded import forwarded_caller
from modhub.server.parser import Parser
from modhub.server.protocol_errors import busy_error
from modhub.server.sending import SendingChannel
from modhub.server.tasks import AppTask, ProtocolErrorTask

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
READ_AHEAD = 65536
"""Bytes read at a time of a head, and beyond the end of a body: the start of the next request waits in memory."""
DISCARD_BUFFER = bytearray(262144)
"""Receives discarded bytes, for all connections: allocating a buffer for each read costs more than the read."""
PEER_SLOT_SECONDS = 2.0
"""How long a request waits for one of its peer's slots."""
LINGER_SECONDS = 2.0
"""How long an ordinary closing connection waits for the client to close too."""


class Channel(DeadlineMixin, SendingChannel):
    """waitress's channel, with at most one request in the hands of a worker.

    Pipelined requests wait unparsed in ``pending`` until the response is written: in waitress a pipelined request
    behind a long response holds a worker until the client has read that response.

    All times are of `monotonic`. Worker threads run `service` and `write_soon`, the loop's thread all the rest.
    """

    request: Any = None
    requests: list[Any]
    parser_class = Parser
    task_class = AppTask
    error_task_class = ProtocolErrorTask

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.discarded = 0
        super().__init__(server, sock, addr, adj, map=map)
        self.peer = server.peers.peer_for(*addr[:2])
        self.via_proxy = self.peer is None
        server.peers.add(self)

    # Reading

    def readable(self) -> bool:
        """Whether the loop should read: never ahead of a response, except to discard."""
        if self.will_close or self.awaits_slot:
            return False
        if self.discarding:
            return not self.input_closed
        return not self.pending and bool(super().readable())

    def handle_read(self) -> None:
        """Read a request, or read and discard (after an early response)."""
        try:
            if self.discarding:
                self._discard(self.socket.recv_into(DISCARD_BUFFER))
            elif data := self.recv(self.adj.recv_bytes):
                self.received(data)
        except BlockingIOError:
            return  # nothing to read after all (epoll(7)): waitress would close the connection
        except OSError:
            self.handle_close()

    def _discard(self, size: int) -> None:
        self.discarded += size
        self.input_closed = not size or self.discarded > self.adj.discard_bytes
        if self.input_closed:
            self.close_if_flushed()

    def recv(self, buffer_size: int) -> bytes:
        """Read what belongs to the current request, and little more."""
        body_left = self.request.body_left if self.request is not None else 0
        data: bytes = super().recv(min(buffer_size, body_left + READ_AHEAD))
        return data

    def received(self, data: bytes) -> bool:
        """Parse ``data`` up to the end of one request; the rest waits."""
        with self.requests_lock:
            if self.will_close or self.close_when_flushed or self.discarding:
                return False
            if self.requests:
                self.pending += data
                return True
            if self.first_byte_at is None:
                self.first_byte_at = monotonic()
            self._parse_all(data)
        return True

    def _parse_all(self, data: bytes) -> None:
        while data and not self.requests and not self.awaits_slot:
            data = self._parse(data)
        self.pending = data

    def _parse(self, data: bytes) -> bytes:
        """Feed ``data`` to the current request and return what is left of it."""
        request = self.request = self.request or self.parser_class(self.adj)
        rest = data[request.received(data) :]
        if request.headers_finished and self.body_since is None:
            self._begin_request(request)
        if not self.awaits_slot:
            self._advance(request, rest)
        return rest

    def _advance(self, request: Any, rest: bytes) -> None:
        """Dispatch, probe or continue ``request`` as far as it has arrived; ``rest`` is received but not parsed yet."""
        if request.completed:
            self.request = None
            if not request.empty:
                self.dispatch(request)
        elif request.needs_probe:
            # Parse what has arrived of a chunked body first: if it is complete, no probe is needed.
            if not (rest and request.chunked):
                self.requests.append(request.expect_probe())
                self.server.add_task(self)
        elif request.expect_continue and request.headers_finished and not self.sent_continue:
            self.send_continue()

    def _begin_request(self, request: Any) -> None:
        """The head is complete: find out which peer the request belongs to, and get a slot or wait for one."""
        now = self.body_since = monotonic()
        if self.via_proxy:
            caller = forwarded_caller(request.headers, self.adj)
            self.server.peers.move(self, caller and peer_of_address(caller))
        needs_no_slot = request.error is not None or self.adj.has_priority(request)
        self.awaits_slot = not needs_no_slot and not self.server.peers.acquire_slot(self, now)

    def check_slot(self, now: float) -> None:
        """Go on as soon as there is a slot; reject the request when it has waited too long."""
        timed_out = self.body_since is None or now - self.body_since > PEER_SLOT_SECONDS
        if not self.server.peers.acquire_slot(self, now) and not timed_out:
            return
        with self.requests_lock:
            self.awaits_slot, self.body_since = False, now
            if not self.has_slot:
                self.request.fail(busy_error())
            self._advance(self.request, self.pending)
            self._parse_all(self.pending)

    def restart_body_deadline(self) -> None:
        """The application wants the body (see `Parser.expect_probe`): its deadline starts now."""
        self.body_since = self.sent_at = monotonic()

    def send_continue(self) -> None:
        """Tell the client to send the body: at once, or from the worker when the application wants it.

        waitress would write to the socket at once; but a worker must not write concurrently with the loop.
        """
        self.restart_body_deadline()
        self.request.expect_continue = False
        with self.outbuf_lock:
            self.outbufs[-1].append(CONTINUE)
            self.current_outbuf_count += len(CONTINUE)
            self.total_outbufs_len += len(CONTINUE)
            self.sent_continue = True

    def dispatch(self, request: Any) -> None:
        """Queue a complete request for a worker; respond to a rejected one at once (`requests_lock` is held)."""
        self.served = True
        self.sent_continue = False
        self.first_byte_at = self.body_since = None
        if request.final:
            self.start_discarding(self.adj.discard_seconds)
        if request.error is not None:
            self._send_error(request)
        else:
            self.requests.append(request)
            self.server.add_task(self)

    def _send_error(self, request: Any) -> None:
        """Write an error response of the server's own. It takes no worker, so busy workers do not delay it."""
        with contextlib.suppress(ClientDisconnected):
            self.error_task_class(self, request).service()
        request.close()
        self.close_when_flushed = True

    def start_discarding(self, seconds: float) -> None:
        """Treat nothing that arrives from now on as a request; read and discard it for ``seconds``."""
        if self.server.draining:
            seconds = min(seconds, LINGER_SECONDS)
        self.discarding = True
        self.discard_until = monotonic() + seconds
        self.pending = b""

    # Writing

    def writable(self) -> bool:
        """Whether the loop should write, close or continue with what is pending."""
        return bool(super().writable() or (self.pending and not self.requests and not self.awaits_slot))

    def handle_write(self) -> None:
        """Write what is buffered; once all is written, close the connection or take the next request."""
        if self.will_close:
            pass
        elif not self.requests:
            self._flush_exception(self._flush_some)
        elif self.total_outbufs_len:
            self._flush_exception(self._flush_some_if_lockable)
        if self.socket is None:
            return  # the client was gone, and the flush closed the connection
        if not (self.requests or self.total_outbufs_len):
            self.adj.response_budget.release(self)
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and not self.total_outbufs_len:
            self._finish()
        elif self.pending and not self.requests and not self.total_outbufs_len and not self.awaits_slot:
            data, self.pending = self.pending, b""
            self.received(data)

    def _finish(self) -> None:
        """All is answered: shut down our side, then wait for the client's, so that no reset overtakes the response."""
        self.close_when_flushed = False
        if not self.discarding:
            body_unread = self.request is not None  # rejected before its body was read
            if body_unread:
                self.request.close()
            self.start_discarding(
                self.adj.discard_seconds if body_unread else min(LINGER_SECONDS, self.adj.discard_seconds)
            )
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.input_closed = True
        self.close_if_flushed()

    def close_if_flushed(self) -> None:
        """Close once input is closed and everything is written."""
        if self.input_closed and not (self.requests or self.total_outbufs_len or self.close_when_flushed):
            self.handle_close()

    @property
    def in_flight(self) -> bool:
        """Whether a worker may change which events this connection waits for."""
        return bool(self.requests or self.total_outbufs_len or self.close_when_flushed or self.pending)

    # In the worker's thread

    def service(self) -> None:
        """Run the request; an unexpected error ends this connection only and leaves one line in the log."""
        try:
            super().service()
        except Exception as error:  # noqa: BLE001
            self.logger.error("connection closed after an unexpected error: %r", error)
            self.will_close = True
            self._drop_requests()
            self.server.pull_trigger()
        # With another request at hand, its own worker releases: it may have reserved already.
        if not self.requests and not (self.connected and self.total_outbufs_len):
            self.adj.response_budget.release(self)

    def reserve_response(self, size: int) -> bool:
        """See `modhub.base.body_rules.RESERVE_RESPONSE`."""
        return self.adj.response_budget.reserve(self, size)

    def cancel(self) -> None:
        """See waitress: the server stops before this request was answered."""
        self._drop_requests()
        super().cancel()

    def _drop_requests(self) -> None:
        dropped, self.requests = self.requests, []
        for request in dropped:
            with contextlib.suppress(Exception):  # the request itself may be broken
                request.close()

    def handle_expt(self) -> None:
        """Close on urgent data: it has no meaning here, and if left unread it would wake a poll(2) loop endlessly."""
        self.handle_close()

    def handle_close(self) -> None:
        """Close now, and release a partly received body."""
        super().handle_close()
        self.server.peers.remove(self)
        if not self.requests:  # else the worker is still making the response, and releases it
            self.adj.response_budget.release(self)
        if self.request is not None:
            self.request.close()
