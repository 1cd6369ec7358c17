"""The listening sockets, the threads, the loop that serves them, and its graceful end."""

import contextlib
import errno
import logging
import socket
from collections.abc import Iterator
from operator import attrgetter
from time import monotonic
from typing import Any, Final

from waitress import wasyncore
from waitress.server import TcpWSGIServer, UnixWSGIServer
from waitress.task import ThreadedTaskDispatcher

from modhub.base.body_rules import BodyRules
from modhub.base.metrics import LIMITS_HIT
from modhub.base.repeated_lines import log_sometimes
from modhub.server.channel import Channel
from modhub.server.settings import WAIT_THREADS, Settings, find_service_of, raise_file_limit

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
ACCEPT_AT_ONCE: Final = 16
SETTLE_SECONDS: Final = 0.25
"""How long a drain leaves idle connections open, so that a request already on its way is still answered."""
HELD_UP_SECONDS: Final = 3.0
"""Beyond its timeout: a turn of the loop that takes longer was held up, as by a machine that was suspended."""
MOST_PATHS: Final = 1_000
LONGEST_PATH: Final = 100
"""How many addresses of large responses are known, and of how many characters."""
OUT_OF_RESOURCES: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_NO_LOGGER: Final = logging.Logger("waitress.queue", logging.CRITICAL)  # noqa: LOG001 - no configuration reaches it
"""waitress warns of each request that waits for a thread, while all others wait for that line."""
logger = logging.getLogger("modhub.server")


class Pools:
    """The threads: for reads; for what writes; for what waits for its turn (`BodyRule.waits`); one for large responses.

    So neither a locked database nor a burst of sign-ins holds reading up, and nothing small waits behind what is large.
    """

    def __init__(self, adj: Settings) -> None:
        self.adj = adj
        self._large_paths: set[str] = set()
        self.by_name = {name: ThreadedTaskDispatcher() for name in ("reading", "writing", "waiting", "large")}

    def start(self) -> None:
        """Start the threads."""
        counts = (self.adj.threads, self.adj.write_threads, WAIT_THREADS, 1)
        for pool, count in zip(self.by_name.values(), counts, strict=True):
            pool.queue_logger = _NO_LOGGER
            pool.set_thread_count(count)

    def add_task(self, channel: Any) -> None:
        """Queue the request of ``channel``."""
        request = channel.requests[0]
        request.is_large = request.is_large or self.is_known_large(request)
        if request.is_large:
            name = "large"
        elif request.command in SAFE:
            name = "reading"
        else:
            name = "waiting" if request.waits else "writing"
        self.by_name[name].add_task(channel)

    def is_known_large(self, request: Any) -> bool:
        """Whether the address was large when it was read last: then it goes to the thread for these at once.

        To find out takes tens of milliseconds, which hundreds of callers would take from everybody's reads (T-D20).
        """
        return request.command in SAFE and request.path in self._large_paths

    def note_large(self, request: Any) -> None:
        """The response to ``request`` is large."""
        if request.command in SAFE and len(request.path) <= LONGEST_PATH:
            if len(self._large_paths) >= MOST_PATHS:
                self._large_paths.clear()
            self._large_paths.add(request.path)

    def shutdown(self, timeout: float) -> None:
        """End all threads."""
        for pool in self.by_name.values():
            pool.shutdown(timeout=timeout)


class _Listener:
    """What our TCP and unix listeners share."""

    adj: Settings
    accepting: bool
    active_channels: dict[int, Channel]
    channel_class = Channel
    draining = False
    paused_until = 0.0

    def readable(self) -> bool:
        """Whether to accept connections now; `_make_room` limits their number."""
        return bool(self.accepting) and monotonic() >= self.paused_until

    def handle_accept(self) -> None:
        """Accept several connections: one in each turn of the loop is slow when many come at once."""
        for _ in range(ACCEPT_AT_ONCE):
            super().handle_accept()  # type: ignore[misc]

    def accept(self) -> Any:
        """Accept a connection; None if there is none, or no room. Pauses when the system is out of resources."""
        try:
            accepted = super().accept()  # type: ignore[misc]
        except OSError as error:
            if error.errno not in OUT_OF_RESOURCES:
                raise
            log_sometimes(logger, logging.ERROR, "cannot accept connections right now: %s", error.strerror)
            self.paused_until = monotonic() + 1
            return None
        if accepted is None or self._make_room(accepted[1]):
            return accepted
        accepted[0].close()
        return None

    def _make_room(self, address: Any) -> bool:
        """Close the connection that has waited longest, of the same peer or of all, where one more is too many (T-D2).

        False if none waits. A trusted proxy and a unix socket have no limit of their own.
        """
        peer = self.adj.find_peer(address)
        everybody = list(self.active_channels.values())
        own = [channel for channel in everybody if peer is not None and channel.peer == peer]
        for channels, limit in ((own, self.adj.connections_per_peer), (everybody, self.adj.connection_limit)):
            if len(channels) < limit:
                continue
            LIMITS_HIT.labels("connections").inc()
            log_sometimes(logger, logging.WARNING, "there are too many connections: those that wait longest are closed")
            waiting = [channel for channel in channels if not (channel.requests or channel.total_outbufs_len)]
            if not waiting:
                return False
            min(waiting, key=attrgetter("moved")).abort()
        return True

    def pull_trigger(self) -> None:
        """Wake the loop if it still runs: a late worker must not write to a descriptor that was reused."""
        with contextlib.suppress(OSError):
            if not self.trigger._closed:  # type: ignore[attr-defined]
                super().pull_trigger()  # type: ignore[misc]


class TcpListener(_Listener, TcpWSGIServer):
    """A TCP address."""


class UnixListener(_Listener, UnixWSGIServer):
    """A unix socket, for a proxy on the same machine."""


class Server:
    """An application at its addresses: ``run`` it in one thread, ``stop`` it from any.

    Binds and listens at once (OSError: an address is taken), and serves once it runs.
    """

    def __init__(self, app: Any, **settings: Any) -> None:
        self.adj = Settings(**settings)
        self.adj.rules = find_service_of(app, BodyRules)
        if self.adj.rules is not None:
            self.adj.rules.server = self
        self.adj.connection_limit = raise_file_limit(self.adj.connection_limit)
        self.map: dict[int, Any] = {}
        self.pools = Pools(self.adj)
        self.stopping = 0
        self.checked_at = 0.0
        try:
            self.listeners = list(self._listen(app))
        except BaseException:
            wasyncore.close_all(self.map, ignore_all=True)
            raise
        self.pools.start()

    def _listen(self, app: Any) -> Iterator[Any]:
        common: dict[str, Any] = {"map": self.map, "dispatcher": self.pools, "adj": self.adj}
        if self.adj.unix_socket:
            yield UnixListener(app, sockinfo=(socket.AF_UNIX, socket.SOCK_STREAM, None, None), **common)
            return
        for info in self.adj.listen:
            yield TcpListener(app, sockinfo=info, **common)

    @property
    def addresses(self) -> list[tuple[str, Any]]:
        """Host and port of each listener (``unix`` and the path for a unix socket)."""
        pairs = [(listener.effective_host, listener.effective_port) for listener in self.listeners]
        return [(host, port if host == "unix" else int(port)) for host, port in pairs]

    @property
    def channels(self) -> list[Channel]:
        """The open connections."""
        return [entry for entry in list(self.map.values()) if isinstance(entry, Channel)]

    def stop(self) -> None:
        """Begin the drain; called a second time, stop at once. Safe in a signal handler and from any thread."""
        self.stopping += 1
        self.listeners[0].pull_trigger()

    def run(self) -> None:
        """Serve until `stop`, drain, and close everything."""
        try:
            while not self.stopping:
                self._turn(self.adj.asyncore_loop_timeout)
            self._drain(monotonic())
        finally:
            for channel in self.channels:
                channel.abort()
            self.pools.shutdown(timeout=0 if self.stopping > 1 else 1)
            for listener in self.listeners:
                listener.trigger.close()
            wasyncore.close_all(self.map, ignore_all=True)

    def _turn(self, timeout: float) -> None:
        began = monotonic()
        wasyncore.poll2(timeout, self.map)
        now = monotonic()
        # What arrived while the loop was held up is read first: its clients were in time.
        if now - self.checked_at >= self.adj.cleanup_interval and now - began < timeout + HELD_UP_SECONDS:
            self.checked_at = now
            for channel in self.channels:
                channel.check(now)

    def _drain(self, since: float) -> None:
        """Accept no more connections, let running requests finish, close the rest (T-F9)."""
        logger.info("stopping: running requests have %g seconds", self.adj.drain_seconds)
        for listener in self.listeners:
            listener.draining = True
            listener.handle_accept()
            wasyncore.dispatcher.close(listener)
        while self.stopping == 1 and (remaining := since + self.adj.drain_seconds - monotonic()) > 0:
            if monotonic() > since + SETTLE_SECONDS:
                for channel in self.channels:
                    if not channel.busy:
                        channel.abort()
                if not self.channels:
                    return
            self._turn(min(remaining, 0.1))
        if cut := sum(channel.busy for channel in self.channels):
            logger.warning("stopped before %d requests or downloads had ended", cut)
