"""Files straight from the disk to the socket (a quarter of the stock wrapper's CPU)."""

import errno
import fcntl
import io
import os
import socket
import struct
import termios
from typing import Any

_UNFIT = frozenset((errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EOVERFLOW, errno.EPERM))


def send_file(sock: socket.socket, outbuf: Any, size: int) -> int | None:
    """Send at most ``size`` bytes of a `wsgi.file_wrapper` by sendfile(2); 0: the socket is full.

    None: this file has to be read instead. Only what is exactly a file of the operating system is sent so (anything
    else may give other bytes than its descriptor does), and a system that cannot is not asked again for this file.
    OSError: the connection is gone, or the file has become shorter.
    """
    file = outbuf.file
    raw = file.raw if type(file) is io.BufferedReader else file
    if type(raw) is not io.FileIO or getattr(outbuf, "unfit", False):
        return None
    try:
        sent = os.sendfile(sock.fileno(), raw.fileno(), file.tell(), size)
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno not in _UNFIT:
            raise
        outbuf.unfit = True
        return None
    if not sent:
        raise OSError("a file that was being sent has become shorter")
    return sent


def queued_bytes(sock: socket.socket) -> int:
    """What the kernel holds of our answer that the client has not acknowledged; -1: it does not say.

    A socket takes more only when a good part of its buffer (megabytes) is free, so that a slow client's progress
    shows here long before it shows in what we can write.
    """
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0])
    except OSError:
        return -1
