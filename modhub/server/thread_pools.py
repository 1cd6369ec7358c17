"""Worker threads in lanes: what waits (for a database's lock, for its turn to hash) takes no thread from what reads.

A lane is a dispatcher of waitress's with threads of its own. Safe methods have one, writing methods another, addresses
that are declared to wait (``BodyRule.waits``) a third with many threads, since nearly all of them sleep. A fourth has
one thread for the health check (``IBodyRules.prompt``), so that it tells about the process and not about its load.

In each lane the peers take turns: a peer with many requests waits behind its own, and nobody else does.
"""

from collections import OrderedDict, deque
from typing import Any

from waitress.task import ThreadedTaskDispatcher

from modhub.server.settings import SAFE, Settings


class FairQueue:
    """What waits for a thread, one request of each peer in turn (waitress's ``queue``, under its lock)."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str | None, deque[Any]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, channel: Any) -> None:
        """Add the request of a connection behind those of its peer."""
        self._waiting.setdefault(channel.peer, deque()).append(channel)
        self._count += 1

    def popleft(self) -> Any:
        """Take the next peer's oldest request; the peer goes to the end. KeyError: nothing waits."""
        peer, channels = self._waiting.popitem(last=False)
        channel = channels.popleft()
        if channels:
            self._waiting[peer] = channels
        self._count -= 1
        return channel


class ThreadPools:
    """Stands where waitress has one dispatcher."""

    def __init__(self, adj: Settings) -> None:
        self.adj = adj
        self.reading = _lane(adj.threads)
        self.writing = _lane(adj.write_threads)
        self.waiting = _lane(adj.wait_threads)
        self.prompt = _lane(1)

    def add_task(self, channel: Any) -> None:
        """Queue the request that ``channel`` has just completed."""
        self.lane(channel.requests[-1]).add_task(channel)

    def lane(self, request: Any) -> ThreadedTaskDispatcher:
        """The lane of a request."""
        if self.adj.is_prompt(request):
            return self.prompt
        if request.command in SAFE:
            return self.reading
        return self.waiting if request.waits else self.writing

    def shutdown(self, timeout: float = 5) -> None:
        """End all threads; see waitress."""
        for lane in (self.reading, self.writing, self.waiting, self.prompt):
            lane.shutdown(timeout=timeout)


def _lane(threads: int) -> ThreadedTaskDispatcher:
    lane = ThreadedTaskDispatcher()
    lane.queue = FairQueue()
    lane.set_thread_count(threads)
    return lane
