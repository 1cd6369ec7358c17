"""The deadlines of one connection (T-D2), enforced in the loop's thread about once a second."""

import math
import socket
from abc import ABC, abstractmethod
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer

from modhub.base.metrics import LIMITS_HIT
from modhub.server.files import queued_bytes
from modhub.server.poller import Poller
from modhub.server.progress import TransferProgress
from modhub.server.protocol_errors import ProtocolError, busy_error, request_timeout
from modhub.server.settings import Settings


def _needs_rate(buffer: Any) -> bool:
    return bool(getattr(getattr(buffer, "file", None), "needs_rate", False))


class DeadlineMixin(ABC):
    """The deadlines of a channel, measured with `time.monotonic`, and what happens when one expires."""

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
    """The peer that this connection counts for (`modhub.server.peers`)."""
    via_proxy = False
    """Whether a trusted proxy opened it: then ``peer`` is the caller that the proxy names."""
    has_slot = False
    """Whether this connection holds one of its peer's slots."""
    awaits_slot = False
    """Whether a complete head waits for a slot."""
    pending = b""
    """Bytes after the request that is being answered."""
    served = False
    """Whether a request was answered here: until then a client has `header_seconds`, afterwards `channel_timeout`."""
    first_byte_at: float | None = None
    """When the current request began; None if nothing of it has arrived."""
    body_since: float | None = None
    """When its head was complete."""
    sent_at = 0.0
    """When the connection was opened, or the client last took a byte or could begin to."""
    sent_bytes = 0
    """Bytes of all responses that the kernel has accepted."""
    queued = -1
    """Bytes of those that were still in the kernel's queue at the last check."""
    taken_bytes = 0
    """Bytes that the client had taken at the last check."""
    body_progress: TransferProgress | None = None
    """Progress of the request body."""
    response_progress: TransferProgress | None = None
    """Progress of the response; None if nothing waits, or the loop has not checked yet."""
    discarding = False
    discard_until = 0.0
    input_closed = False
    """Input is closed: the client shut down its side, or the discard deadline or byte limit was reached."""

    @property
    def busy(self) -> bool:
        """Whether a drain has to wait for this connection."""
        responding = self.requests or self.total_outbufs_len or self.close_when_flushed or self.pending
        return bool(responding or self.body_since is not None or (self.discarding and not self.input_closed))

    @property
    def unread_bytes(self) -> int:
        """Bytes that wait for the client in our memory; files on disk do not count."""
        return sum(len(buffer) for buffer in list(self.outbufs) if not isinstance(buffer, ReadOnlyFileBasedBuffer))

    def waiting_since(self, now: float) -> float:
        """When the client stopped making progress (idle, half a head, slow body or reader); infinite while it does."""
        if self.total_outbufs_len:
            if self.response_progress is None:
                return math.inf if now - self.sent_at < 1 else self.sent_at
            return self.response_progress.behind_since(now, self.taken_bytes, self.adj.body_min_rate)
        if self.requests or self.close_when_flushed or (self.pending and not self.awaits_slot):
            return math.inf
        if self.awaits_slot and self.body_since is not None:
            return self.body_since
        if self.discarding or self.body_since is None:
            return self.first_byte_at or self.sent_at
        return self._current_body_progress(self.body_since).behind_since(now, self._received(), self.adj.body_min_rate)

    def evict(self) -> None:
        """Close to make room for another connection. A proxy gets a response, or it would think the service is down."""
        if self.via_proxy and self.body_since is not None and not self.requests:
            self.awaits_slot = False
            self._fail_request(busy_error())
            self._map.touch(self)
            return
        LIMITS_HIT.labels("connections").inc()
        if not self.via_proxy:
            self.server.peers.close_later(self.socket.dup())
        self.handle_close()

    def check(self, now: float) -> None:
        """Enforce the deadlines."""
        if not self.total_outbufs_len:
            self.response_progress = None
        if self.will_close:
            self.handle_close()  # the loop itself closes a connection only when it is writable
        elif self.discarding and now > self.discard_until and not self.input_closed:
            self.input_closed = True
            self.close_if_flushed()
        elif self.total_outbufs_len:
            self._check_writing(now)
        elif self.awaits_slot:
            self.check_slot(now)
        elif not self.requests and not self.discarding:
            self._check_reading(now)

    def _check_writing(self, now: float) -> None:
        queued = queued_bytes(self.socket)
        if queued != self.queued:
            self.queued, self.sent_at = queued, now
        elif now - self.sent_at > self.adj.write_seconds:
            self.handle_close()
        self.taken_bytes = self.sent_bytes - max(queued, 0)
        if self.response_progress is None:
            self.response_progress = TransferProgress(self.sent_at, self.taken_bytes)
        progress, min_rate, grace = self.response_progress, self.adj.body_min_rate, self.adj.body_grace_seconds
        progress.mark(now, self.taken_bytes, min_rate, grace)
        is_slow = now - progress.began > grace and progress.rate(now, self.taken_bytes, grace) < min_rate
        if is_slow and any(map(_needs_rate, list(self.outbufs))):
            self.handle_close()

    def _check_reading(self, now: float) -> None:
        if self.first_byte_at is None:
            if now - self.sent_at > (self.adj.channel_timeout if self.served else self.adj.header_seconds):
                self.handle_close()
        elif self.body_since is None:
            if now - self.first_byte_at > self.adj.header_seconds:
                self._fail_request(request_timeout("The request head took too long."))
        else:
            min_rate, grace, received = self.adj.body_min_rate, self.adj.body_grace_seconds, self._received()
            progress = self._current_body_progress(self.body_since)
            progress.mark(now, received, min_rate, grace)
            if now - progress.began > grace and progress.rate(now, received, grace) < min_rate:
                self._fail_request(request_timeout("The request body came too slowly."))

    def _current_body_progress(self, began: float) -> TransferProgress:
        if self.body_progress is None or self.body_progress.began != began:
            self.body_progress = TransferProgress(began)
        return self.body_progress

    def _received(self) -> int:
        return int(self.request.body_bytes_received) if self.request is not None else 0

    def _fail_request(self, error: ProtocolError) -> None:
        with self.requests_lock:
            request, self.request = self.request or self.parser_class(self.adj), None
            request.fail(error)
            self.dispatch(request)

    def handle_close(self) -> None:
        """Close at once (the channel's)."""
        super().handle_close()  # type: ignore[misc]

    @abstractmethod
    def check_slot(self, now: float) -> None:
        """Go on with the head that waits for a slot, or reject it (the channel's)."""

    @abstractmethod
    def close_if_flushed(self) -> None:
        """Close once input is closed and everything is written (the channel's)."""

    @abstractmethod
    def dispatch(self, request: Any) -> None:
        """Queue a request for a worker (the channel's)."""
