"""The deadlines of one connection (threat D2), enforced in the loop's thread about once a second."""

import math
import socket
from abc import ABC, abstractmethod
from typing import Any

from modhub.server.faults import Fault, late
from modhub.server.files import queued_bytes
from modhub.server.settings import Settings


class Deadlines(ABC):
    """The clocks of a channel, all of `time.monotonic`, and what happens when one runs out."""

    adj: Settings
    socket: socket.socket
    parser_class: Any
    requests_lock: Any
    request: Any
    requests: list[Any]
    total_outbufs_len: int
    will_close: bool
    close_when_flushed: bool

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
    queued = -1
    """What the kernel held of the answer at the last look."""
    discarding = False
    discard_until = 0.0
    deaf = False
    """Nothing will be read any more: the client has closed its side, or its time or measure is full."""

    @property
    def busy(self) -> bool:
        """Whether something is under way that a drain waits for."""
        answering = self.requests or self.total_outbufs_len or self.close_when_flushed or self.pending
        return bool(answering or self.body_since is not None or (self.discarding and not self.deaf))

    @property
    def waiting_since(self) -> float:
        """Since when nothing happens here but waiting for a client's head (idle or half open); else infinite."""
        if self.requests or self.total_outbufs_len or self.close_when_flushed or self.body_since is not None:
            return math.inf
        return self.first_byte_at or self.sent_at

    def check(self, now: float) -> None:
        """Enforce the deadlines."""
        if self.will_close:
            self.handle_close()  # the loop itself closes a connection only when it can be written to
        elif self.discarding and now > self.discard_until and not self.deaf:
            self.deaf = True
            self.close_if_flushed()
        elif self.total_outbufs_len:
            self._check_writing(now)
        elif not self.requests and not self.discarding:
            self._check_reading(now)

    def _check_writing(self, now: float) -> None:
        queued = queued_bytes(self.socket)
        if queued != self.queued:
            self.queued, self.sent_at = queued, now
        elif now - self.sent_at > self.adj.write_seconds:
            self.handle_close()

    def _check_reading(self, now: float) -> None:
        if self.first_byte_at is None:
            if now - self.sent_at > (self.adj.channel_timeout if self.served else self.adj.header_seconds):
                self.handle_close()
        elif self.body_since is None:
            if now - self.first_byte_at > self.adj.header_seconds:
                self._give_up(late("The request head took too long."))
        else:
            elapsed = now - self.body_since
            least = elapsed * self.adj.body_min_rate
            if elapsed > self.adj.body_grace_seconds and self.request.body_bytes_received < least:
                self._give_up(late("The request body came too slowly."))

    def _give_up(self, fault: Fault) -> None:
        with self.requests_lock:
            request, self.request = self.request or self.parser_class(self.adj), None
            request.fail(fault)
            self.dispatch(request)

    def handle_close(self) -> None:
        """Close at once (the channel's)."""
        super().handle_close()  # type: ignore[misc]

    @abstractmethod
    def close_if_flushed(self) -> None:
        """Close, when nothing more will be read and everything is written (the channel's)."""

    @abstractmethod
    def dispatch(self, request: Any) -> None:
        """Give a request to a worker (the channel's)."""
