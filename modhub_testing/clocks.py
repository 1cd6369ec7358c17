"""Clocks that a test moves, and those of several machines, which differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch


class Clock:
    """A clock that moves only when told to, in the place of ``monotonic`` of a module."""

    def __init__(self, monkeypatch: Any, module: Any) -> None:
        self.now = 1000.0
        monkeypatch.setattr(module, "monotonic", self)

    def __call__(self) -> float:
        """The time."""
        return self.now

    def forward(self, seconds: float) -> None:
        """Advance by ``seconds``."""
        self.now += seconds


class _Ahead(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(seconds=40)


@contextmanager
def on_a_machine_that_is_ahead() -> Iterator[None]:
    """Until the block ends, this process's clock is 40 seconds ahead; that of the database stays."""
    with patch("modhub.db.datetime", _Ahead):
        yield
