"""Standard output and standard error, whatever is behind them: no run ends with a traceback because of them."""

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

NOT_READ = {errno.EPIPE} | ({errno.EINVAL} if sys.platform == "win32" else set())
"""Nobody reads the pipe any more, which is no failure: `head` has seen enough."""


def take_every_character() -> None:
    """Show what an output's encoding lacks as an escape: pipes on Windows have the code page of the system."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_now(stream: TextIO | None, text: str, *, exact: bool = False) -> OSError | None:
    """Write all of ``text``; return the problem if the output is full or closed.

    ``exact``: as UTF-8, whatever the encoding of the output is, because a program reads it.
    """
    if stream is None:
        # Python has no stream for a descriptor that was closed from the beginning.
        return OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        if exact and isinstance(stream, io.TextIOWrapper):
            stream.buffer.write(text.encode("utf-8"))
        else:
            stream.write(text)
        stream.flush()
    except OSError as problem:
        _discard(stream)
        return None if problem.errno in NOT_READ else problem
    return None


def warn(program: str, text: str) -> None:
    """A line for people on standard error; nothing depends on it."""
    write_now(sys.stderr, f"{program}: {printable(text)}\n")


def printable(text: str) -> str:
    """What a service sent must not control the terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _discard(stream: TextIO) -> None:
    """Send what is still buffered nowhere: otherwise it fails once more when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())
