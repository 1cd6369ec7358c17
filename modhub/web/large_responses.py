"""Large bodies of responses: made one at a time, in a temporary file, and bounded while they wait for their readers.

A small question can have a huge answer (T-D20, T-D22). So its view runs in a thread of the server's that nothing small
waits for. A body in pieces would hold that thread until a slow reader has taken it, and a joined one lies in memory
several times; the server sends a file by itself.
"""

import logging
import tempfile
import zlib
from collections.abc import Callable, Iterable
from io import FileIO, RawIOBase
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final

from pyramid.response import FileIter

from modhub.base.body_rules import IS_LARGE_TURN
from modhub.base.errors import RunAgain, busy
from modhub.base.metrics import LIMITS_HIT
from modhub.base.peers import peer_of_address
from modhub.base.repeated_lines import log_alarm
from modhub.content.limits import MB
from modhub.web.compression import LEVEL

LARGE: Final = MB
"""A larger body is made in its turn, and written to a file."""
MANY_MODS: Final = 100
"""A page or a plan about more mods is made in its turn, too."""
UNREAD_BYTES: Final = 256 * MB
"""Limit of all large bodies that wait for their readers, in bytes."""
UNREAD_BYTES_PER_PEER: Final = 64 * MB
_COPY_BYTES: Final = 262144
_GZIP: Final = 16 + zlib.MAX_WBITS

log = logging.getLogger(__name__)


def take_large_turn(environ: dict[str, Any]) -> None:
    """Call it before a large response is made: the request goes on in the server's thread for these.

    Raises `RunAgain` to get there. Nothing may be written before. Other servers have
    no such thread.
    """
    if environ.get(IS_LARGE_TURN) is False:
        raise RunAgain(102)


class UnreadBodies:
    """The bytes of large bodies that wait for their readers, by peer; for any thread of a process.

    A body that is larger than a limit is made if it is the only one: a mod's chain must be complete.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._lock = Lock()

    def add(self, peer: str, size: int) -> None:
        """Count a body; 503 ``busy`` if there is no room for it."""
        with self._lock:
            used, own = sum(self._bytes.values()), self._bytes.get(peer, 0)
            if (used and used + size > UNREAD_BYTES) or (own and own + size > UNREAD_BYTES_PER_PEER):
                LIMITS_HIT.labels("unread_bytes").inc()
                raise busy()
            self._bytes[peer] = own + size

    def remove(self, peer: str, size: int) -> None:
        """The body was taken, or its reader has gone."""
        with self._lock:
            self._bytes[peer] -= size
            if not self._bytes[peer]:
                del self._bytes[peer]


UNREAD: Final = UnreadBodies()
"""Those of this process."""


class LargeBody(FileIO):
    """A temporary file without a name for one body. ``on_close`` is called once: when it was sent, or never will be."""

    def __init__(self, on_close: Callable[[], None]) -> None:
        self._on_close = on_close
        descriptor, path = tempfile.mkstemp()
        Path(path).unlink()
        super().__init__(descriptor, "r+b")

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            super().close()
            self._on_close()


def write_body(environ: dict[str, Any], parts: Iterable[bytes], size: int, *, compressed: bool) -> tuple[FileIO, int]:
    """Write a body of about ``size`` bytes to a file; returns it at its beginning, and its exact size.

    503 if that is not possible, or there is no room for it.
    """
    peer = peer_of_address(environ.get("REMOTE_ADDR") or "")
    UNREAD.add(peer, size)
    try:
        file = LargeBody(lambda: UNREAD.remove(peer, size))
    except OSError as error:
        UNREAD.remove(peer, size)
        raise _failed(error) from None
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP) if compressed else None
    try:
        for part in parts:
            _write(file, part if compressor is None else compressor.compress(part))
        if compressor is not None:
            _write(file, compressor.flush())
        written = file.tell()
        file.seek(0)
    except OSError as error:
        file.close()
        raise _failed(error) from None
    except BaseException:
        file.close()
        raise
    return file, written


def file_body(environ: dict[str, Any], file: BinaryIO | RawIOBase) -> Any:
    """The body of a response with all of ``file``, which is closed when it was sent."""
    return environ.get("wsgi.file_wrapper", FileIter)(file, _COPY_BYTES)


def _write(file: FileIO, part: bytes) -> None:
    unwritten = memoryview(part)
    while unwritten:
        unwritten = unwritten[file.write(unwritten) :]


def _failed(error: OSError) -> Exception:
    message = "a response cannot be written to the temporary folder (%s)"
    log_alarm(log, message, error.strerror)
    return busy()
