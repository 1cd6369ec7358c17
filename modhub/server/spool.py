"""What request bodies hold, in memory and on the temporary disk, counted for the whole process.

A body is held from its first byte until its request is answered or given up. Without a bound for all of them together
a disk fills although each is within its limit.
"""

import threading

from waitress.buffers import OverflowableBuffer


class SpoolFull(Exception):
    """All bodies together hold as much as they may."""


class Spool:
    """The bytes that all bodies hold just now: ``held``, of ``most``."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0
        self._lock = threading.Lock()

    def has_room(self, size: int) -> bool:
        """Whether a body of ``size`` could be taken now."""
        return self.held + size <= self.most

    def take(self, size: int, *, always: bool) -> None:
        """Count ``size`` bytes more; `SpoolFull` where that is too many, unless they are taken ``always``."""
        with self._lock:
            if not always and not self.has_room(size):
                raise SpoolFull
            self.held += size

    def give_back(self, size: int) -> None:
        """Count ``size`` bytes less."""
        with self._lock:
            self.held -= size


class SpooledBody(OverflowableBuffer):
    """One body: in memory while it is below ``memory`` bytes, then in a temporary file.

    In memory it is taken even where the spool is full, so that signing in goes on: the number of connections bounds
    what these hold.
    """

    def __init__(self, spool: Spool, memory: int) -> None:
        super().__init__(memory)
        self._spool = spool
        self._counted = 0

    def append(self, s: bytes) -> None:
        """Keep ``s``; `SpoolFull` or OSError (a full disk): it is not kept, and the body can only be closed."""
        size = len(s)
        self._spool.take(size, always=self._counted + size < self.overflow)
        self._counted += size
        super().append(s)

    def close(self) -> None:
        """Let go of it; closing it once more does nothing."""
        counted, self._counted = self._counted, 0
        self._spool.give_back(counted)
        super().close()
