"""The progress bar of downloads."""

import shutil
import threading
from typing import TextIO


class TransferBar:
    """Shows on a terminal how much of all files has arrived; silent elsewhere. Threads may share it."""

    def __init__(self, total: int, terminal: TextIO | None) -> None:
        shows = terminal is not None and terminal.isatty() and total > 0
        self._terminal = terminal if shows else None
        self._total = total
        self._done = 0
        self._percent = -1
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """``size`` more bytes have arrived; negative if some have to be fetched again."""
        with self._lock:
            self._done += size
            self._draw()

    def _draw(self) -> None:
        percent = max(0, min(100, 100 * self._done // self._total)) if self._total else 100
        if self._terminal is None or percent == self._percent:
            return
        self._percent = percent
        width = max(shutil.get_terminal_size().columns - 10, 10)
        filled = width * percent // 100
        self._terminal.write(f"\r[{'#' * filled}{'.' * (width - filled)}] {percent:3d} %")
        self._terminal.flush()

    def close(self) -> None:
        """Leave the bar and start a new line."""
        if self._terminal is not None and self._percent >= 0:
            self._terminal.write("\n")
            self._terminal.flush()
