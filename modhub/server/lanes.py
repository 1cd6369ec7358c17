"""Worker threads in lanes: what waits (for a database's lock, for its turn to hash) takes no thread from what reads.

A lane is a dispatcher of waitress's with threads of its own. Safe methods have one, writing methods another, addresses
that are declared to wait (``BodyRule.waits``) a third with many threads, since nearly all of them sleep.
"""

from typing import Any, Final

from waitress.task import ThreadedTaskDispatcher

from modhub.server.settings import Settings

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Lanes:
    """Stands where waitress has one dispatcher."""

    def __init__(self, adj: Settings) -> None:
        self.reading = _lane(adj.threads)
        self.writing = _lane(adj.write_threads)
        self.waiting = _lane(adj.wait_threads)

    def add_task(self, channel: Any) -> None:
        """Queue the request that ``channel`` has just completed."""
        self.lane(channel.requests[-1]).add_task(channel)

    def lane(self, request: Any) -> ThreadedTaskDispatcher:
        """The lane of a parsed request; one that could not be parsed is answered among the reads."""
        if request.error is not None or request.command in SAFE:
            return self.reading
        return self.waiting if request.waits else self.writing

    def shutdown(self, timeout: float = 5) -> None:
        """End all threads; see waitress."""
        for lane in (self.reading, self.writing, self.waiting):
            lane.shutdown(timeout=timeout)


def _lane(threads: int) -> ThreadedTaskDispatcher:
    lane = ThreadedTaskDispatcher()
    lane.set_thread_count(threads)
    return lane
