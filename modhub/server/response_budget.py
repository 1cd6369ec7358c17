"""The large responses of a process: how many bytes of them are being made or wait for their readers (T-D20).

The application reserves the size of a large response before it makes it. It is released when the client has taken the
response, or when the connection ends.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any


class ResponseBudget:
    """Bytes in the making and unread: at most ``limit`` in all, and ``per_peer`` of one peer; for any thread.

    A response that is larger than a limit is made if it is the only one: a mod's chain must be complete.
    """

    def __init__(self, limit: int, per_peer: int, note_limit: Callable[[str], None] = lambda _name: None) -> None:
        """``note_limit`` is told the name of the limit at each refusal."""
        self._note_limit = note_limit
        self.limit = limit
        self.per_peer = per_peer
        self.used = 0
        self._of_peers: dict[str, int] = {}
        self._refused: set[str | None] = set()
        self._reserved: dict[Any, tuple[str | None, int]] = {}
        self._lock = Lock()

    def reserve(self, channel: Any, size: int) -> bool:
        """Reserve ``size`` bytes for the response of a connection, in place of what it has; False if there is no room.

        ``channel.peer`` says whose it is; a trusted proxy that names nobody has no limit of its own.
        """
        with self._lock:
            self._release(channel)
            peer = channel.peer
            of_peer = 0 if peer is None else self._of_peers.get(peer, 0)
            if of_peer and of_peer + size > self.per_peer:
                self._refused.add(peer)
                self._note_limit("unread_bytes_per_peer")
                return False
            if self.used and self.used + size > self.limit:
                self._refused.add(None)
                self._note_limit("unread_bytes")
                return False
            self._reserved[channel] = peer, size
            self.used += size
            if peer is not None:
                self._of_peers[peer] = of_peer + size
            return True

    def take_refused(self) -> dict[str | None, int]:
        """The peers that were refused since the last call, None for the whole process, and the bytes that each uses."""
        with self._lock:
            refused, self._refused = self._refused, set()
            return {peer: self.used if peer is None else self._of_peers.get(peer, 0) for peer in refused}

    def release(self, channel: Any) -> None:
        """The response of a connection was taken, or will never be."""
        # Without the lock: one operation of a dictionary, and most connections have reserved nothing.
        if channel in self._reserved:
            with self._lock:
                self._release(channel)

    def reserved_by(self, channel: Any) -> int:
        """The bytes that a connection has reserved."""
        return self._reserved.get(channel, (None, 0))[1]

    def _release(self, channel: Any) -> None:
        peer, size = self._reserved.pop(channel, (None, 0))
        self.used -= size
        if peer is None:
            return
        left = self._of_peers[peer] - size
        if left:
            self._of_peers[peer] = left
        else:
            del self._of_peers[peer]
