"""Separate thread pools, so that requests that wait (for a database lock, for their turn to hash) do not block reads.

A pool is one of waitress's dispatchers. Safe methods have one, writing methods another. Addresses that are declared to
wait (``BodyRule.waits``) have a third with many threads, since nearly all of them sleep. A fourth has one thread for
the health check (``IBodyRules.priority_paths``), so that it reports on the process and not on its load.

In each pool the peers take turns: a peer with many requests waits behind its own, and nobody else does.
"""

import logging
from collections import OrderedDict, deque
from typing import Any, Final

from waitress.task import ThreadedTaskDispatcher

from modhub.server.settings import SAFE, Settings

_NO_LOGGER: Final = logging.Logger("waitress.queue", logging.CRITICAL)  # noqa: LOG001 - no configuration reaches it
"""waitress warns of each request that waits for a thread, while all others wait for that line.

How many wait is a metric (``modhub_server_waiting_requests``).
"""


class FairQueue:
    """Channels that wait for a thread, one of each peer in turn (waitress's ``queue``, under its lock)."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str | None, deque[Any]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, channel: Any) -> None:
        """Add a connection's request behind those of its peer."""
        self._waiting.setdefault(channel.peer, deque()).append(channel)
        self._count += 1

    def popleft(self) -> Any:
        """Take the next peer's oldest request; the peer moves to the end. KeyError if the queue is empty."""
        peer, channels = self._waiting.popitem(last=False)
        channel = channels.popleft()
        if channels:
            self._waiting[peer] = channels
        self._count -= 1
        return channel


class ThreadPools:
    """Replaces waitress's single dispatcher."""

    def __init__(self, adj: Settings) -> None:
        self.adj = adj
        self.reading = _create_pool(adj.threads)
        self.writing = _create_pool(adj.write_threads)
        self.waiting = _create_pool(adj.wait_threads)
        self.priority = _create_pool(1)

    def add_task(self, channel: Any) -> None:
        """Queue the request that ``channel`` has just completed."""
        self.pool_for(channel.requests[-1]).add_task(channel)

    def pool_for(self, request: Any) -> ThreadedTaskDispatcher:
        """The pool for a request."""
        if self.adj.has_priority(request):
            return self.priority
        if request.command in SAFE:
            return self.reading
        return self.waiting if request.waits else self.writing

    def shutdown(self, timeout: float = 5) -> None:
        """End all threads; see waitress."""
        for pool in (self.reading, self.writing, self.waiting, self.priority):
            pool.shutdown(timeout=timeout)


def _create_pool(threads: int) -> ThreadedTaskDispatcher:
    pool = ThreadedTaskDispatcher()
    pool.queue = FairQueue()
    pool.queue_logger = _NO_LOGGER
    pool.set_thread_count(threads)
    return pool
