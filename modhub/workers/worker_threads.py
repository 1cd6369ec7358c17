"""Until 1.2, for features of 1.0: ``config.add_worker`` has replaced it."""

import atexit
from collections.abc import Callable
from threading import Event, Thread
from typing import Protocol


class Work(Protocol):
    """What a thread does."""

    def __call__(self, wait: float, /, *, clean_up: bool) -> float:
        """Return the seconds until the next run; ``wait`` are those before this one."""


class WorkerThread:
    """Runs ``work`` again and again, until it is stopped. Work must survive its own errors.

    ``clean_up`` is true in the first run, and then once in ``cleanup_seconds``. ``on_stop`` ends a long run early.
    When the process ends, the current run is waited for, but no longer than ``stop_seconds``.
    """

    def __init__(
        self,
        name: str,
        work: Work,
        *,
        cleanup_seconds: float = 0.0,
        on_stop: Callable[[], None] | None = None,
        stop_seconds: float | None = None,
    ) -> None:
        self._name = name
        self._work = work
        self._cleanup_seconds = cleanup_seconds
        self._on_stop = on_stop
        self._stop_seconds = stop_seconds
        self._stopping = Event()
        self._thread: Thread | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called: the current run should end."""
        return self._stopping.is_set()

    def start(self, first_wait: float) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._run, args=(first_wait,), name=self._name, daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Stop the thread and wait for its current run."""
        atexit.unregister(self.stop)
        self._stopping.set()
        if self._on_stop is not None:
            self._on_stop()
        if self._thread is not None:
            self._thread.join(self._stop_seconds)

    def _run(self, wait: float) -> None:
        until_cleanup = 0.0
        while not self._stopping.wait(wait):
            until_cleanup -= wait
            clean_up = until_cleanup <= 0
            wait = self._work(wait, clean_up=clean_up)
            if clean_up:
                until_cleanup = self._cleanup_seconds
