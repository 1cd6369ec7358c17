"""Standard output and standard error, whatever is behind them: no run ends with a traceback because of them."""

import contextlib
import errno
import io
import os
import shutil
import sys
from typing import TextIO

_UNREAD = {errno.EPIPE} | ({errno.EINVAL} if sys.platform == "win32" else set())
"""Nobody reads the pipe any more, which is no failure: `head` has seen enough."""


def show_every_character() -> None:
    """Show what an output's encoding lacks as an escape: pipes on Windows have the code page of the system."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_output(stream: TextIO | None, text: str) -> OSError | None:
    """Write all of ``text``; return the problem if the output is full or closed."""
    if stream is None:
        # Python has no stream for a descriptor that was closed from the beginning.
        return OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        stream.write(text)
        stream.flush()
    except OSError as problem:
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            # What is still buffered would fail once more when the interpreter ends.
            os.dup2(nowhere.fileno(), stream.fileno())
        return None if problem.errno in _UNREAD else problem
    return None


def say_error(text: str) -> None:
    """A line for people on standard error; nothing depends on it."""
    write_output(sys.stderr, f"modhub-verify: {safe_line(text)}\n")


def safe_line(text: str) -> str:
    """What a service sent must not control the terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


class CheckBar:
    """Shows on a terminal how many of all checks are done; silent elsewhere."""

    def __init__(self, total: int, terminal: TextIO | None) -> None:
        self._terminal = terminal if terminal is not None and terminal.isatty() and total else None
        self._total = total
        self._done = 0

    @property
    def is_shown(self) -> bool:
        """Whether somebody sees it."""
        return self._terminal is not None

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        width = max(shutil.get_terminal_size().columns - 12, 10)
        filled = width * self._done // max(self._total, 1)
        self._write(f"\r[{'#' * filled}{'.' * (width - filled)}] {self._done}/{self._total}")

    def clear(self) -> None:
        """Make room for a line."""
        self._write(f"\r{' ' * (shutil.get_terminal_size().columns - 1)}\r")

    def _write(self, text: str) -> None:
        if self._terminal is not None and write_output(self._terminal, text) is not None:
            self._terminal = None
