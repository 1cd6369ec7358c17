"""The settings of ``[server:main]``: waitress's own, with our defaults, and those of this server."""

import contextlib
import logging
import re
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Final

from waitress.adjustments import Adjustments, asbool

from modhub.base.body_rules import DEFAULT_LIMIT, BodyRule, IBodyRules
from modhub.base.metrics import LIMITS_HIT
from modhub.base.optional_calls import optional_call
from modhub.base.repeated_lines import log_sometimes
from modhub.server.forwarded import UntrustedProxyWarning
from modhub.server.response_budget import ResponseBudget
from modhub.server.spool import Spool

MAX_FILES = 65536
MAX_PORT = 65535
UNSENT_BYTES = 262144
"""How much of a response the kernel takes beyond what the client's window allows.

With megabytes (its default) a download leaves the processor's cache before the client reads it. With less, a loop that
is busy fills the buffer too late: under load 64 MB take 187 ms with 64 KB, 146 with 256 KB, 136 without a limit.
"""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_NUMBERS: Final[Mapping[Any, str]] = {int: "a whole number", float: "a number"}
_NO_ADDRESS: Final = "Invalid host/port specified."
"""What waitress says about an address that it cannot resolve."""
logger = logging.getLogger("modhub.server")


class Settings(Adjustments):
    """All settings, by ini key. Raises ValueError for an unknown key or an invalid value.

    ``max_request_body_size`` is the limit of bodies that no body rule names: the application responds with 413, never
    waitress. ``asyncore_use_poll`` is always on.
    """

    _params = (
        *(pair for pair in Adjustments._params if pair[0] not in ("asyncore_loop_timeout", "cleanup_interval")),
        ("asyncore_loop_timeout", float),
        ("cleanup_interval", float),
        ("header_seconds", float),
        ("body_min_rate", float),
        ("body_grace_seconds", float),
        ("write_seconds", float),
        ("discard_bytes", int),
        ("discard_seconds", float),
        ("drain_seconds", float),
        ("spool_bytes", int),
        ("connections_per_peer", int),
        ("unread_bytes", int),
        ("unread_bytes_per_peer", int),
        ("reuse_port", asbool),
        ("write_threads", int),
        ("wait_threads", int),
    )
    _param_map: ClassVar = dict(_params)

    ident = None
    recv_bytes = 262144
    channel_timeout = 60
    connection_limit = 2000
    backlog = 4096
    asyncore_use_poll = True
    asyncore_loop_timeout = 1.0
    cleanup_interval = 1.0
    max_request_body_size = DEFAULT_LIMIT
    max_request_header_size = 65536
    inbuf_overflow = 65536
    """A smaller body is held in memory, a larger one in a temporary file (bytes)."""

    header_seconds = 15.0
    """From the connection, or from the first byte of a later request, to the end of its head."""
    body_min_rate = 1024.0
    """Minimum rate of a body in bytes a second, over the last ``body_grace_seconds``."""
    body_grace_seconds = 30.0
    spool_bytes = 4 * 1024 * 1024 * 1024
    """Limit of all bodies together, in memory and in temporary files; for each process."""
    write_seconds = 120.0
    """A connection that takes no byte of its response for this long is closed."""
    discard_bytes = 128 * 1024 * 1024
    """Most bytes to read and discard after an early error, so that the response arrives (C-ERR-19)."""
    discard_seconds = 30.0
    drain_seconds = 30.0
    """How long SIGTERM waits for running requests and downloads (T-F9)."""
    connections_per_peer = 512
    """Per IPv4 address or IPv6 /64; a trusted proxy has no limit, the callers that it names have this one."""
    unread_bytes = 256 * 1024 * 1024
    """Limit of all large responses that are being made or wait for their readers; beyond it a next one is refused."""
    unread_bytes_per_peer = 64 * 1024 * 1024
    """The same of one peer. Of its smaller responses, readers without progress are closed above as much again."""
    outbuf_overflow = 128 * 1024
    """What waits of a response above this is in a temporary file, not in memory."""
    reuse_port = False
    """SO_REUSEPORT: several processes listen at one address, and the kernel distributes the connections."""

    write_threads = 8
    """Worker threads for POST, PUT and DELETE; ``threads`` are those for reads."""
    wait_threads = 72
    """Threads for addresses that may wait for their turn: 64 that wait, and those that run (C-LIM-6)."""

    def __init__(self, **settings: Any) -> None:
        _refuse_unreadable(settings, self._param_map)
        try:
            super().__init__(**settings)
        except ValueError as error:
            if str(error) != _NO_ADDRESS:
                raise
            raise ValueError("its address cannot be used; use listen = 127.0.0.1:6543 or listen = [::1]:6543") from None
        if self.cleanup_interval <= 0 or self.asyncore_loop_timeout <= 0:
            raise ValueError("cleanup_interval and asyncore_loop_timeout must be above zero")
        if min(self.threads, self.write_threads, self.wait_threads) < 1:
            raise ValueError("threads, write_threads and wait_threads must be above zero")
        if self.spool_bytes < 1:
            raise ValueError("spool_bytes must be above zero")
        for port in (str(settings.get("port", "")), *re.findall(r":([0-9]+)(?!\S)", str(settings.get("listen", "")))):
            if port.isdecimal() and int(port) > MAX_PORT:
                raise ValueError(f"{port} is not a port")
        if min(self.connection_limit, self.connections_per_peer, self.unread_bytes, self.unread_bytes_per_peer) < 1:
            raise ValueError(
                "connection_limit, connections_per_peer, unread_bytes and unread_bytes_per_peer must be above zero"
            )
        self.socket_options = [*Adjustments.socket_options, *_limit_of_unsent()]
        self.default_rule = BodyRule(self.max_request_body_size)
        self.spool = Spool(self.spool_bytes)
        self.response_budget = ResponseBudget(self.unread_bytes, self.unread_bytes_per_peer, self.note_limit)
        self.rules: Any = None
        self.proxy_warning = UntrustedProxyWarning()

    def note_limit(self, name: str) -> None:
        """Count a request that is refused because a limit of the whole process, or of a peer, leaves no room for it."""
        LIMITS_HIT.labels(name).inc()
        log_sometimes(logger, logging.WARNING, "%s reached: requests are refused", name)

    @property
    def error_headers(self) -> tuple[tuple[str, str], ...]:
        """The application's additions to the server's own responses."""
        headers: tuple[tuple[str, str], ...] = () if self.rules is None else self.rules.error_headers
        return headers

    def has_priority(self, request: Any) -> bool:
        """Whether ``request`` has the priority thread (`IBodyRules`)."""
        paths: frozenset[str] = getattr(self.rules, "priority_paths", frozenset())
        return request.command in SAFE and request.path.removeprefix(self.url_prefix) in paths

    def find_rule(self, method: str, path: str) -> BodyRule:
        """The application's rule for this request, else the default one."""
        rule = self.rules.find(method, path.removeprefix(self.url_prefix)) if self.rules is not None else None
        return rule or self.default_rule


def _refuse_unreadable(configured: Mapping[str, Any], kinds: Mapping[str, Callable[[str], Any]]) -> None:
    """Name the key that is unknown or holds no number: waitress shows Python's error, without the key."""
    for key, value in configured.items():
        if key not in kinds:
            similar = get_close_matches(key, kinds, n=1)
            hint = f"; the nearest is {similar[0]}" if similar else ""
            raise ValueError(f"the key {key} is unknown{hint}")
        if kinds[key] in _NUMBERS:
            try:
                kinds[key](value)
            except ValueError:
                raise ValueError(f"{key} must be {_NUMBERS[kinds[key]]}, not {value!r}") from None


def _limit_of_unsent() -> list[tuple[int, int, int]]:
    """The socket option for `UNSENT_BYTES`, if the system has it: an option that fails would close the connection."""
    consequence = "downloads take more of the processor"
    with contextlib.suppress(AttributeError), optional_call("TCP_NOTSENT_LOWAT", consequence), socket.socket() as probe:
        option = (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        probe.setsockopt(*option)
        return [option]
    return []


def body_rules(app: Any) -> Any:
    """The application's `IBodyRules`, found through WSGI filters that keep what they wrap; None if it has none."""
    for _ in range(16):
        registry = getattr(app, "registry", None)
        if registry is not None:
            return registry.queryUtility(IBodyRules)
        app = getattr(app, "application", None) or getattr(app, "app", None)
    return None


def raise_file_limit(connections: int) -> int:
    """Raise the soft limit of open files (to `MAX_FILES` at most) and return how many connections it allows.

    A connection takes up to four files (itself, a spooled body, the file that it downloads, one that is closed later).
    """
    soft = resource.RLIM_INFINITY
    with optional_call("setrlimit", "few files may be open at once"):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        ceiling = sys.maxsize if hard == resource.RLIM_INFINITY else hard
        target = min(ceiling, MAX_FILES)
        if soft != resource.RLIM_INFINITY and soft < target:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    allowed = connections if soft == resource.RLIM_INFINITY else max(32, (soft - 256) // 4)
    if allowed < connections:
        logger.warning("connection_limit lowered to %d: this process may only open %d files", allowed, soft)
    return min(connections, allowed)
