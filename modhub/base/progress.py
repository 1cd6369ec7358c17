"""A progress bar on standard error, where somebody watches: none in a pipe, a log or a timer."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

_WIDTH: Final = 30
_SECONDS_BETWEEN: Final = 0.2


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """The block calls what it gets with the number of steps it has done."""
    if not sys.stderr.isatty():
        yield lambda _count: None
        return
    bar = _Bar(label, total)
    try:
        yield bar.advance
    finally:
        bar.end()


class _Bar:
    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._drawn_at = 0.0

    def advance(self, count: int) -> None:
        self._done += count
        if monotonic() - self._drawn_at >= _SECONDS_BETWEEN:
            self._draw()

    def end(self) -> None:
        self._draw()
        sys.stderr.write("\n")
        sys.stderr.flush()

    def _draw(self) -> None:
        self._drawn_at = monotonic()
        sys.stderr.write(f"\r{self._text()}\x1b[K")
        sys.stderr.flush()

    def _text(self) -> str:
        share = min(self._done / self._total, 1.0) if self._total else 1.0
        bar = "#" * round(share * _WIDTH)
        return f"[{bar:<{_WIDTH}}] {share:4.0%} of {self._total} {self._label}"
