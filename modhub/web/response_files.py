"""Large bodies of responses: room for them is reserved, then they are written to a temporary file, not to memory.

A body in pieces would hold a worker until a slow reader has taken it, and a joined one lies in memory several times.
The server sends a file by itself.
"""

import logging
import tempfile
import zlib
from collections.abc import Iterable
from io import RawIOBase
from typing import Any, BinaryIO, Final

from modhub.base.body_rules import RESERVE_RESPONSE
from modhub.base.errors import busy
from modhub.base.repeated_lines import log_alarm
from modhub.content.limits import MB
from modhub.web.compression import LEVEL

LARGE: Final = MB
"""A larger body needs room of its own, and is written to a file."""
_COPY_BYTES: Final = 262144
_GZIP: Final = 16 + zlib.MAX_WBITS

log = logging.getLogger(__name__)


def reserve_response(environ: dict[str, Any], size: int) -> None:
    """Make sure that the server can hold a response of ``size`` bytes; 503 ``busy`` if not. Other servers hold any."""
    reserve = environ.get(RESERVE_RESPONSE)
    if reserve is not None and not reserve(size):
        raise busy()


def write_body(parts: Iterable[bytes], *, compressed: bool) -> tuple[BinaryIO, int]:
    """Write a body to a file without a name; returns it at its beginning, and its size. 503 if that is not possible."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP) if compressed else None
    try:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the server closes it
    except OSError as error:
        raise _failed(error) from None
    try:
        for part in parts:
            _write(file, part if compressor is None else compressor.compress(part))
        if compressor is not None:
            _write(file, compressor.flush())
        size = file.tell()
        file.seek(0)
    except OSError as error:
        file.close()
        raise _failed(error) from None
    except BaseException:
        file.close()
        raise
    return file, size


def file_body(environ: dict[str, Any], file: BinaryIO | RawIOBase) -> Any:
    """The body of a response with all of ``file``, which is closed when it was sent."""
    wrapper = environ.get("wsgi.file_wrapper")
    return _Pieces(file) if wrapper is None else wrapper(file, _COPY_BYTES)


class _Pieces:
    """The body where the server has no file wrapper."""

    def __init__(self, file: BinaryIO | RawIOBase) -> None:
        self._file = file

    def __iter__(self) -> Any:
        return iter(lambda: self._file.read(_COPY_BYTES), b"")

    def close(self) -> None:
        self._file.close()


def _write(file: BinaryIO, part: bytes) -> None:
    unwritten = memoryview(part)
    while unwritten:
        unwritten = unwritten[file.write(unwritten) :]


def _failed(error: OSError) -> Exception:
    message = "a response cannot be written to the temporary folder (%s)"
    log_alarm(log, message, error.strerror)
    return busy()
