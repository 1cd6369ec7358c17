"""The deadlines of one connection (T-D2), enforced in the loop's thread about once a second."""

import math
import socket
from abc import ABC, abstractmethod
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer

from modhub.server.files import queued_bytes
from modhub.server.poller import Poller
from modhub.server.progress import TransferProgress
from modhub.server.protocol_errors import ProtocolError, busy_error, request_timeout
from modhub.server.settings import Settings


class DeadlineMixin(ABC):
    """The clocks of a channel, all of `time.monotonic`, and what happens when one runs out."""

    adj: Settings
    _map: Poller
    socket: socket.socket
    outbufs: list[Any]
    parser_class: Any
    requests_lock: Any
    server: Any
    request: Any
    requests: list[Any]
    total_outbufs_len: int
    will_close: bool
    close_when_flushed: bool

    peer: str | None = None
    """Whose connection this is (`modhub.server.peers`)."""
    by_proxy = False
    """Whether a trusted proxy has made it: then ``peer`` is the caller that the proxy names."""
    claimed = False
    """Whether a head has claimed a place."""
    held = False
    """Whether a head waits for a place."""
    pending = b""
    """Bytes behind the request that is being answered."""
    served = False
    """Whether a request was answered here; before, a client has `header_seconds`, later `channel_timeout`."""
    first_byte_at: float | None = None
    """When the request that is being received began; None: nothing of it is there."""
    body_since: float | None = None
    """When its head was complete."""
    sent_at = 0.0
    """When the connection was made, or the client last took a byte or could begin to."""
    sent_bytes = 0
    """What the kernel has taken of all answers here."""
    queued = -1
    """What it still held of them at the last look."""
    taken_bytes = 0
    """What the client had taken by then."""
    arriving: TransferProgress | None = None
    """How the body comes."""
    leaving: TransferProgress | None = None
    """How the answer goes; None: nothing waits, or the loop has not looked yet."""
    discarding = False
    discard_until = 0.0
    input_closed = False
    """Nothing will be read any more: the client has closed its side, or its time or measure is full."""

    @property
    def busy(self) -> bool:
        """Whether something is under way that a drain waits for."""
        answering = self.requests or self.total_outbufs_len or self.close_when_flushed or self.pending
        return bool(answering or self.body_since is not None or (self.discarding and not self.input_closed))

    @property
    def unread_bytes(self) -> int:
        """What waits for the client in buffers of ours; a file waits on the disk."""
        return sum(len(buffer) for buffer in list(self.outbufs) if not isinstance(buffer, ReadOnlyFileBasedBuffer))

    def waiting_since(self, now: float) -> float:
        """Since when the client makes no progress (idle, half a head, too slow a body or reader); infinite: it does."""
        if self.total_outbufs_len:
            if self.leaving is None:
                return math.inf if now - self.sent_at < 1 else self.sent_at
            return self.leaving.behind_since(now, self.taken_bytes, self.adj.body_min_rate)
        if self.requests or self.close_when_flushed or (self.pending and not self.held):
            return math.inf
        if self.held and self.body_since is not None:
            return self.body_since
        if self.discarding or self.body_since is None:
            return self.first_byte_at or self.sent_at
        return self._arrival(self.body_since).behind_since(now, self._received(), self.adj.body_min_rate)

    def give_way(self) -> None:
        """Make room for another connection. A proxy gets an answer: without one it would take the service for dead."""
        if self.by_proxy and self.body_since is not None and not self.requests:
            self.held = False
            self._give_up(busy_error())
            self._map.touch(self)
            return
        if not self.by_proxy:
            self.server.peers.close_later(self.socket.dup())
        self.handle_close()

    def check(self, now: float) -> None:
        """Enforce the deadlines."""
        if not self.total_outbufs_len:
            self.leaving = None
        if self.will_close:
            self.handle_close()  # the loop itself closes a connection only when it can be written to
        elif self.discarding and now > self.discard_until and not self.input_closed:
            self.input_closed = True
            self.close_if_flushed()
        elif self.total_outbufs_len:
            self._check_writing(now)
        elif self.held:
            self.check_place(now)
        elif not self.requests and not self.discarding:
            self._check_reading(now)

    def _check_writing(self, now: float) -> None:
        queued = queued_bytes(self.socket)
        if queued != self.queued:
            self.queued, self.sent_at = queued, now
        elif now - self.sent_at > self.adj.write_seconds:
            self.handle_close()
        self.taken_bytes = self.sent_bytes - max(queued, 0)
        if self.leaving is None:
            self.leaving = TransferProgress(self.sent_at, self.taken_bytes)
        self.leaving.mark(now, self.taken_bytes, self.adj.body_min_rate, self.adj.body_grace_seconds)

    def _check_reading(self, now: float) -> None:
        if self.first_byte_at is None:
            if now - self.sent_at > (self.adj.channel_timeout if self.served else self.adj.header_seconds):
                self.handle_close()
        elif self.body_since is None:
            if now - self.first_byte_at > self.adj.header_seconds:
                self._give_up(request_timeout("The request head took too long."))
        else:
            least, seconds, received = self.adj.body_min_rate, self.adj.body_grace_seconds, self._received()
            arrival = self._arrival(self.body_since)
            arrival.mark(now, received, least, seconds)
            if now - arrival.began > seconds and arrival.rate(now, received, seconds) < least:
                self._give_up(request_timeout("The request body came too slowly."))

    def _arrival(self, since: float) -> TransferProgress:
        if self.arriving is None or self.arriving.began != since:
            self.arriving = TransferProgress(since)
        return self.arriving

    def _received(self) -> int:
        return int(self.request.body_bytes_received) if self.request is not None else 0

    def _give_up(self, fault: ProtocolError) -> None:
        with self.requests_lock:
            request, self.request = self.request or self.parser_class(self.adj), None
            request.fail(fault)
            self.dispatch(request)

    def handle_close(self) -> None:
        """Close at once (the channel's)."""
        super().handle_close()  # type: ignore[misc]

    @abstractmethod
    def check_place(self, now: float) -> None:
        """Go on with the head that waits for a place, or refuse it (the channel's)."""

    @abstractmethod
    def close_if_flushed(self) -> None:
        """Close, when nothing more will be read and everything is written (the channel's)."""

    @abstractmethod
    def dispatch(self, request: Any) -> None:
        """Give a request to a worker (the channel's)."""
