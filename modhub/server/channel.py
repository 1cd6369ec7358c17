"""One connection: requests one after the other, deadlines, and an end that lets the last answer arrive."""

import contextlib
import socket
from time import monotonic
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel

from modhub.server.deadlines import DeadlineMixin
from modhub.server.forwarded import named_caller
from modhub.server.parser import Parser
from modhub.server.peers import network
from modhub.server.protocol_errors import busy_error
from modhub.server.sending import SEND_BYTES, SendingMixin
from modhub.server.tasks import AppTask, ProtocolErrorTask

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
READ_AHEAD = 65536
"""Read of a head at a time, and beyond the end of a body: what is no part of this request waits in memory."""
WASTE = bytearray(262144)
"""Where what is thrown away goes, of all connections: taking new memory for it each time costs more than reading it."""
PLACE_SECONDS = 2.0
"""How long a request waits for one of its peer's places."""
LINGER_SECONDS = 2.0
"""How long an ordinary closing connection waits for the client to close too."""


class Channel(DeadlineMixin, SendingMixin, HTTPChannel):
    """waitress's channel, with at most one request in the hands of a worker.

    What a client sends beyond it waits unparsed in ``pending`` until the answer is written: in waitress a pipelined
    request behind a long answer holds a worker until the client has read that answer.

    All times are of `monotonic`. Worker threads run `service` and `write_soon`, the loop's thread all the rest.
    """

    prefix = b""
    request: Any = None
    requests: list[Any]
    parser_class = Parser
    task_class = AppTask
    error_task_class = ProtocolErrorTask

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.discarded = 0
        self.sent_at = monotonic()
        super().__init__(server, sock, addr, adj, map=map)
        self.sendbuf_len = SEND_BYTES
        self.peer = server.peers.name(*addr[:2])
        self.by_proxy = self.peer is None
        server.peers.add(self)

    # Reading

    def readable(self) -> bool:
        """Whether the loop shall read: never ahead of an answer, except to discard."""
        if self.will_close or self.held:
            return False
        if self.discarding:
            return not self.input_closed
        return not self.pending and bool(super().readable())

    def handle_read(self) -> None:
        """Read a request, or read and throw away (after an early answer)."""
        if not self.discarding:
            super().handle_read()
            return
        try:
            size = self.socket.recv_into(WASTE)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        self.discarded += size
        self.input_closed = not size or self.discarded > self.adj.discard_bytes
        if self.input_closed:
            self.close_if_flushed()

    def recv(self, buffer_size: int) -> bytes:
        """Read what belongs to the request that is being received, and little more."""
        left = self.request.body_left if self.request is not None else 0
        data: bytes = super().recv(min(buffer_size, left + READ_AHEAD))
        return data

    def received(self, data: bytes) -> bool:
        """Parse ``data`` as far as one request goes; the rest waits."""
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
        while data and not self.requests and not self.held:
            data = self._parse(data)
        self.pending = data

    def _parse(self, data: bytes) -> bytes:
        """Feed the request that is being received; what is left of ``data``."""
        request = self.request = self.request or self.parser_class(self.adj)
        rest = data[request.received(data) :]
        if request.headers_finished and self.body_since is None:
            self._begin(request)
        if not self.held:
            self._advance(request, rest)
        return rest

    def _advance(self, request: Any, rest: bytes) -> None:
        """Go on with a request that has come so far; ``rest`` has been received and is not parsed yet."""
        if request.completed:
            self.request = None
            if not request.empty:
                self.dispatch(request)
        elif request.asks:
            # A chunked body that is here already is looked at first: it may end, and nothing is to be asked.
            if not (rest and request.chunked):
                self.requests.append(request.expect_probe())
                self.server.add_task(self)
        elif request.expect_continue and request.headers_finished and not self.sent_continue:
            self.send_continue()

    def _begin(self, request: Any) -> None:
        """The head is here: find out whose the request is, and take a place for it or wait for one."""
        now = self.body_since = monotonic()
        if self.by_proxy:
            named = named_caller(request.headers, self.adj)
            self.server.peers.move(self, named and network(named))
        free = request.error is not None or self.adj.is_prompt(request)
        self.held = not free and not self.server.peers.claim(self, now)

    def check_place(self, now: float) -> None:
        """Go on as soon as there is a place; refuse the request when there is none for too long."""
        late = self.body_since is None or now - self.body_since > PLACE_SECONDS
        if not self.server.peers.claim(self, now) and not late:
            return
        with self.requests_lock:
            self.held, self.body_since = False, now
            if not self.claimed:
                self.request.fail(busy_error())
            self._advance(self.request, self.pending)
            self._parse_all(self.pending)

    def await_body(self) -> None:
        """The application wants the body that it was asked about (`question`): the time for it begins now."""
        self.body_since = self.sent_at = monotonic()

    def send_continue(self) -> None:
        """Tell the client to send the body: at once, or by the worker when the application wants it (`question`).

        waitress would write it at once; but a worker must neither write beside the loop nor close under its feet.
        """
        self.await_body()
        self.request.expect_continue = False
        with self.outbuf_lock:
            self.outbufs[-1].append(CONTINUE)
            self.current_outbuf_count += len(CONTINUE)
            self.total_outbufs_len += len(CONTINUE)
            self.sent_continue = True

    def dispatch(self, request: Any) -> None:
        """Give a complete request to a worker; answer a refused one at once (`requests_lock` is held)."""
        self.served = True
        self.sent_continue = False
        self.first_byte_at = self.body_since = None
        if request.final:
            self.start_discarding(self.adj.discard_seconds)
        if request.error is not None:
            self._refuse(request)
        else:
            self.requests.append(request)
            self.server.add_task(self)

    def _refuse(self, request: Any) -> None:
        """Write an answer of the server's own: it takes no worker, so that busy workers delay no refusal."""
        with contextlib.suppress(ClientDisconnected):
            self.error_task_class(self, request).service()
        request.close()
        self.close_when_flushed = True

    def start_discarding(self, seconds: float) -> None:
        """From now on nothing that arrives is a request; for so long it is still read, then no more."""
        if self.server.draining:
            seconds = min(seconds, LINGER_SECONDS)
        self.discarding = True
        self.discard_until = monotonic() + seconds
        self.pending = b""

    # Writing

    def writable(self) -> bool:
        """Whether the loop shall write, close or go on with what waits."""
        return bool(super().writable() or (self.pending and not self.requests and not self.held))

    def handle_write(self) -> None:
        """Write what there is; once all is written, end the connection or take the next request."""
        if self.will_close:
            pass
        elif not self.requests:
            self._flush_exception(self._flush_some)
        elif self.total_outbufs_len:
            self._flush_exception(self._flush_some_if_lockable)
        if self.socket is None:
            return  # the client had gone, and the flush closed the connection
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and not self.total_outbufs_len:
            self._finish()
        elif self.pending and not self.requests and not self.total_outbufs_len and not self.held:
            data, self.pending = self.pending, b""
            self.received(data)

    def _finish(self) -> None:
        """All is answered: close our side, then wait for the client's, so that no reset overtakes the answer."""
        self.close_when_flushed = False
        if not self.discarding:
            refused = self.request is not None  # before its body was taken
            if refused:
                self.request.close()
            self.start_discarding(
                self.adj.discard_seconds if refused else min(LINGER_SECONDS, self.adj.discard_seconds)
            )
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.input_closed = True
        self.close_if_flushed()

    def close_if_flushed(self) -> None:
        """Close, when nothing more will be read and everything is written."""
        if self.input_closed and not (self.requests or self.total_outbufs_len or self.close_when_flushed):
            self.handle_close()

    @property
    def in_flight(self) -> bool:
        """Whether a worker may change what this connection waits for."""
        return bool(self.requests or self.total_outbufs_len or self.close_when_flushed or self.pending)

    # In the worker's thread

    def write_soon(self, data: Any) -> int:
        """See waitress; ``prefix`` goes before ``data``. The write deadline begins with the first byte that waits."""
        if self.prefix:
            data, self.prefix = self.prefix + data, b""
        if not self.total_outbufs_len:
            self.sent_at = monotonic()
        return int(super().write_soon(data))

    def service(self) -> None:
        """Answer the request; an error of ours ends this connection alone and leaves one line in the log."""
        try:
            super().service()
        except Exception as error:  # noqa: BLE001
            self.logger.error("connection closed after an unexpected error: %r", error)
            self.will_close = True
            self._drop_requests()
            self.server.pull_trigger()

    def cancel(self) -> None:
        """See waitress: the service ends before this request was answered."""
        self._drop_requests()
        super().cancel()

    def _drop_requests(self) -> None:
        dropped, self.requests = self.requests, []
        for request in dropped:
            with contextlib.suppress(Exception):  # which may be what ended it
                request.close()

    def handle_expt(self) -> None:
        """Urgent data has no meaning here; unread it would wake a loop over poll(2) for ever."""
        self.handle_close()

    def handle_close(self) -> None:
        """Close now, and let go of a body that was being received."""
        super().handle_close()
        self.server.peers.remove(self)
        if self.request is not None:
            self.request.close()
