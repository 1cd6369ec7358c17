"""The progress bar of all programs."""

import shutil
import threading
from typing import TextIO

from modhub_client.output import write_now


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
