"""The memory and temporary disk space of request bodies, counted for the whole process.

A body is kept from its first byte until its request is answered or abandoned. Without a common limit the disk could
fill up although each body is within its own.
"""

import os
import threading
from typing import Any, BinaryIO

from waitress.buffers import FileBasedBuffer, OverflowableBuffer

from modhub.base.optional_calls import report_missed


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


class UnnamedFile(FileBasedBuffer):
    """The buffer of a body in a folder of the application; nobody has written to ``file`` but `append`."""

    file: BinaryIO

    def append(self, s: bytes) -> None:
        """Write ``s`` at the end at once; the position for reading stays."""
        unwritten = memoryview(s)
        while unwritten:
            count = os.pwrite(self.file.fileno(), unwritten, self.remain)
            unwritten = unwritten[count:]
            self.remain += count


def open_unnamed(folder: str) -> BinaryIO | None:
    """Open a new file in ``folder`` that may get a name later; None if the system cannot, or the folder is missing."""
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), "w+b")
    except (FileNotFoundError, AttributeError):
        return None
    except OSError as error:
        report_missed("O_TMPFILE", "uploads are written twice", error)
        return None


class SpooledBody(OverflowableBuffer):
    """One body: in memory while it is below ``memory`` bytes, then in a temporary file, in ``folder`` if it is given.

    Bodies in memory are accepted even when the spool is full, so that signing in still works; the number of connections
    limits them.
    """

    buf: Any

    def __init__(self, spool: Spool, memory: int, folder: str | None = None) -> None:
        super().__init__(memory)
        self._spool = spool
        self._folder = folder
        self._counted = 0

    @property
    def unnamed_file(self) -> Any:
        """The body's file in the folder, if it has one."""
        return self.buf.file if isinstance(self.buf, UnnamedFile) else None

    def _set_large_buffer(self) -> None:
        file = open_unnamed(self._folder) if self._folder else None
        if file is None:
            super()._set_large_buffer()
            return
        small, self.buf = self.buf, UnnamedFile(file)
        self.overflowed = True
        if small is not None:
            self.buf.append(small.get())
            small.close()

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
