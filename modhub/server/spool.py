"""The memory and temporary disk space of request bodies, counted for the whole process.

A body is kept from its first byte until its request is answered or abandoned. Without a common limit the disk could
fill up although each body is within its own.
"""

import threading

from waitress.buffers import OverflowableBuffer


class SpoolFull(Exception):
    """All bodies together have reached their limit."""


class Spool:
    """Counts the bytes of all current bodies: ``used``, at most ``limit``."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._lock = threading.Lock()

    def has_room(self, size: int) -> bool:
        """Whether a body of ``size`` bytes would fit now."""
        return self.used + size <= self.limit

    def reserve(self, size: int, *, force: bool) -> None:
        """Count ``size`` more bytes; `SpoolFull` if there is no room, unless ``force`` is set."""
        with self._lock:
            if not force and not self.has_room(size):
                raise SpoolFull
            self.used += size

    def release(self, size: int) -> None:
        """Count ``size`` fewer bytes."""
        with self._lock:
            self.used -= size


class SpooledBody(OverflowableBuffer):
    """One body: in memory while it is below ``memory`` bytes, then in a temporary file.

    Bodies in memory are accepted even when the spool is full, so that signing in still works; the number of connections
    limits them.
    """

    def __init__(self, spool: Spool, memory: int) -> None:
        super().__init__(memory)
        self._spool = spool
        self._counted = 0

    def append(self, s: bytes) -> None:
        """Append ``s``. After `SpoolFull` or OSError (a full disk) it is not kept, and the body can only be closed."""
        size = len(s)
        self._spool.reserve(size, force=self._counted + size < self.overflow)
        self._counted += size
        super().append(s)

    def close(self) -> None:
        """Release the body; closing it again does nothing."""
        counted, self._counted = self._counted, 0
        self._spool.release(counted)
        super().close()
