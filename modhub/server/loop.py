"""The listening sockets, the loop that serves them, and its graceful shutdown."""

import contextlib
import errno
import logging
import os
import socket
import threading
from time import monotonic
from typing import Any

from waitress import wasyncore
from waitress.server import TcpWSGIServer, UnixWSGIServer

from modhub.base.repeated_lines import log_sometimes
from modhub.server.channel import LINGER_SECONDS, Channel
from modhub.server.forwarded import forwarded_headers
from modhub.server.peers import Peers
from modhub.server.poller import Poller
from modhub.server.settings import Settings, body_rules, raise_file_limit
from modhub.server.thread_pools import ThreadPools

ACCEPT_AT_ONCE = 64
SETTLE_SECONDS = 0.25
"""How long a drain leaves idle connections open, so that a request already on its way is still answered."""
HELD_UP_SECONDS = 3.0
"""Beyond its timeout: a turn of the loop that takes longer was held up, as by a machine that was suspended."""
OUT_OF_RESOURCES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))

logger = logging.getLogger("modhub.server")


class _Listener:
    """What our TCP and unix listeners share."""

    adj: Settings
    accepting: bool
    socket: socket.socket
    channel_class = Channel
    draining = False
    paused_until = 0.0

    def __init__(self, app: Any, *, peers: Peers, **settings: Any) -> None:
        self.peers = peers
        self._trigger_lock = threading.RLock()  # a signal handler may interrupt its own thread
        super().__init__(app, **settings)  # type: ignore[call-arg]
        self.application = forwarded_headers(app, self.adj)  # instead of waitress's own

    def handle_accept(self) -> None:
        """Accept several connections at a time: one per turn of the loop is slow when many come at once."""
        for _ in range(ACCEPT_AT_ONCE):
            try:
                accepted = self.accept()
                if accepted is None:
                    return
                sock, address = accepted[0], self.fix_addr(accepted[1])  # type: ignore[attr-defined]
                if self.peers.admit(self.peers.peer_for(*address[:2]), monotonic()):
                    self.set_socket_options(sock)  # type: ignore[attr-defined]
                    self.channel_class(self, sock, address, self.adj, map=self._map)  # type: ignore[attr-defined]
                else:
                    self.peers.close_later(sock)
            except OSError as error:
                logger.info("a connection could not be accepted: %s", error)  # its client is gone already
                return

    def accept(self) -> Any:
        """See wasyncore; pauses for a second when the system is out of resources (EMFILE and the like)."""
        try:
            return super().accept()  # type: ignore[misc]
        except OSError as error:
            if error.errno not in OUT_OF_RESOURCES:
                raise
            log_sometimes(logger, logging.ERROR, "cannot accept connections right now: %s", error.strerror)
            self.paused_until = monotonic() + 1
            return None

    def readable(self) -> bool:
        """Whether to accept connections now; `Peers` limits their number."""
        return bool(self.accepting) and monotonic() >= self.paused_until

    def pull_trigger(self) -> None:
        """Wake the loop if it still runs: a late worker must not write to a descriptor that was reused.

        A full pipe wakes it just as well, and must not block a signal handler.
        """
        with self._trigger_lock, contextlib.suppress(BlockingIOError):
            if not self.trigger._closed:  # type: ignore[attr-defined]
                super().pull_trigger()  # type: ignore[misc]

    def close_trigger(self) -> None:
        """Wake the loop no more."""
        with self._trigger_lock:
            self.trigger.close()  # type: ignore[attr-defined]

    def set_reuse_addr(self) -> None:
        """Set SO_REUSEADDR, and SO_REUSEPORT when the settings ask for it (called before the bind)."""
        super().set_reuse_addr()  # type: ignore[misc]
        if self.adj.reuse_port:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)


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
        self.adj.rules = body_rules(app)
        if self.adj.rules is None:
            logger.info("the application has no body rules: every body is limited to the default")
        else:
            self.adj.rules.server = self
        self.adj.connection_limit = raise_file_limit(self.adj.connection_limit)
        self.map = Poller()
        self.pools = ThreadPools(self.adj)
        self.peers = Peers(self.adj)
        self.stopping: float | None = None
        self._stop_now = self._ended = False
        self._next_check = 0.0
        try:
            self.listeners = list(self._listen(app))
        except BaseException:
            self.map.close()
            raise
        for listener in self.listeners:
            os.set_blocking(listener.trigger.trigger, False)

    def _listen(self, app: Any) -> Any:
        common: dict[str, Any] = {"map": self.map, "dispatcher": self.pools, "adj": self.adj, "peers": self.peers}
        if self.adj.unix_socket:
            info = (socket.AF_UNIX, socket.SOCK_STREAM, None, None)
            yield UnixListener(app, sockinfo=info, **common)
            return
        for sock in self.adj.sockets:
            info = (sock.family, sock.type, sock.proto, sock.getsockname())
            kind = UnixListener if sock.family == socket.AF_UNIX else TcpListener
            yield kind(app, _sock=sock, bind_socket=False, sockinfo=info, **common)
        if not self.adj.sockets:
            for info in self.adj.listen:
                yield TcpListener(app, sockinfo=info, **common)

    @property
    def addresses(self) -> list[tuple[str, Any]]:
        """Host and port of each listener (``unix`` and the path for a unix socket)."""
        pairs = [(listener.effective_host, listener.effective_port) for listener in self.listeners]
        return [(host, port if host == "unix" else int(port)) for host, port in pairs]

    def stop(self) -> None:
        """Begin the drain; called a second time, stop at once. Safe in a signal handler and from any thread."""
        if self._ended:
            return
        self._stop_now = self.stopping is not None
        if self.stopping is None:
            self.stopping = monotonic()
        self.listeners[0].pull_trigger()

    def run(self) -> None:
        """Serve until `stop`, drain, and close everything."""
        try:
            while self.stopping is None:
                self._turn(self.adj.asyncore_loop_timeout)
            self._drain(self.stopping)
        finally:
            self._ended = True
            self.peers.close()
            for channel in self._channels():
                channel.handle_close()
            self.pools.shutdown(timeout=0 if self._stop_now else 1)
            for listener in self.listeners:
                listener.close_trigger()
            self.map.close()

    def _turn(self, timeout: float) -> None:
        began = monotonic()
        self.map.turn(timeout)
        now = monotonic()
        if now >= self._next_check:
            self._next_check = now + self.adj.cleanup_interval
            # What arrived while the loop was held up is read first: its clients were in time.
            if now - began < timeout + HELD_UP_SECONDS:
                self._check(now)

    def _channels(self) -> list[Channel]:
        return [entry for entry in self.map.values() if isinstance(entry, Channel)]

    def _check(self, now: float) -> None:
        """Enforce every connection's deadlines, then the connection limits."""
        for channel in self._channels():
            try:
                channel.check(now)
            except Exception:  # noqa: BLE001
                channel.handle_error()
        self.peers.check(now)
        self.map.touch_all()

    def _drain(self, since: float) -> None:
        """Accept no more connections, let running requests finish, close the rest (T-F9)."""
        self.peers.close()
        logger.info("stopping: running requests have %g seconds", self.adj.drain_seconds)
        for channel in self._channels():
            channel.discard_until = min(channel.discard_until, since + LINGER_SECONDS)
        for listener in self.listeners:
            listener.draining = True
            listener.handle_accept()
            wasyncore.dispatcher.close(listener)
        while not self._stop_now and (remaining := since + self.adj.drain_seconds - monotonic()) > 0:
            settled = monotonic() > since + SETTLE_SECONDS
            for channel in self._channels():
                if settled and not channel.busy:
                    channel.handle_close()
            if settled and not self._channels():
                return
            self._turn(min(remaining, 0.1))
        if cut := sum(channel.busy for channel in self._channels()):
            logger.warning("stopped before %d requests or downloads had ended", cut)
