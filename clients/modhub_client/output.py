"""What a program tells: errors that end a run, standard output and standard error, whatever is behind them.

No run ends with a traceback because of an output.
"""

import contextlib
import errno
import io
import os
import shutil
import sys
import threading
from typing import Any, Final, TextIO

WRONG_USE: Final = 2
"""The exit code of a wrong call, which argparse has too. The other codes are each program's own."""


class ClientError(Exception):
    """Ends the run with an exit code and a sentence; ``details`` are further fields of the JSON output."""

    def __init__(self, code: int, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self.code = code
        self.details = details


class WrongUse(ClientError):
    """The program was called in a wrong way."""

    def __init__(self, sentence: str) -> None:
        super().__init__(WRONG_USE, sentence)


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


class ProgressBar:
    """Shows on a terminal how much of ``total`` is done; silent elsewhere. Threads may share it."""

    def __init__(self, total: int, terminal: TextIO | None, label: str = "") -> None:
        self._terminal = terminal if terminal is not None and terminal.isatty() and total > 0 else None
        self._total = total
        self._label = f"{label} " if label else ""
        self._done = 0
        self._percent = -1
        self._lock = threading.Lock()

    @property
    def is_shown(self) -> bool:
        """Whether somebody sees it."""
        return self._terminal is not None

    def add(self, size: int) -> None:
        """``size`` more is done; negative if some has to be done again."""
        with self._lock:
            self._done += size
            percent = max(0, min(100, 100 * self._done // self._total)) if self._total else 100
            if percent != self._percent:
                self._percent = percent
                width = max(shutil.get_terminal_size().columns - len(self._label) - 10, 10)
                filled = width * percent // 100
                self._write(f"\r{self._label}[{'#' * filled}{'.' * (width - filled)}] {percent:3d} %")

    def clear(self) -> None:
        """Make room for a line; the next step draws the bar again."""
        self._percent = -1
        self._write(f"\r{' ' * (shutil.get_terminal_size().columns - 1)}\r")

    def close(self) -> None:
        """Leave the bar and start a new line."""
        if self._percent >= 0:
            self._write("\n")

    def _write(self, text: str) -> None:
        if self._terminal is not None and write_now(self._terminal, text) is not None:
            self._terminal = None
