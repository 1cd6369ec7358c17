"""The settings of ``[server:main]``: waitress's own, with our defaults, and those of this server."""

import contextlib
import logging
import re
import resource
import socket
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from threading import Lock
from typing import Any, ClassVar, Final

from waitress.adjustments import Adjustments

from modhub.base.body_rules import DEFAULT_LIMIT, BodyRule, BodyRules
from modhub.base.metrics import LIMITS_HIT
from modhub.base.optional_calls import optional_call
from modhub.base.peers import peer_of_address
from modhub.base.repeated_lines import log_sometimes
from modhub.base.service_registry import Service, find_optional_service

MAX_FILES: Final = 65536
MAX_PORT: Final = 65535
WAIT_THREADS: Final = 72
"""Threads for addresses that may wait for their turn: 64 that wait, and those that run (C-LIM-6)."""
UNSENT_BYTES: Final = 262144
"""How much of a response the kernel takes beyond what the client's window allows: so a slow reader's progress shows."""
_NUMBERS: Final[Mapping[Any, str]] = {int: "a whole number", float: "a number"}
_OTHERWISE: Final = frozenset({"asyncore_loop_timeout", "cleanup_interval", "sockets"})
"""The first two are fractions here. Nobody can write sockets into an ini."""
_NO_ADDRESS: Final = "Invalid host/port specified."
"""What waitress says about an address that it cannot resolve."""
logger = logging.getLogger("modhub.server")


class Settings(Adjustments):
    """All settings, by ini key. Raises ValueError for an unknown key or an invalid value.

    ``max_request_body_size`` is the limit of bodies that no body rule names: the application responds with 413, never
    waitress.
    """

    _params = (
        *(pair for pair in Adjustments._params if pair[0] not in _OTHERWISE),
        ("asyncore_loop_timeout", float),
        ("cleanup_interval", float),
        ("header_seconds", float),
        ("body_min_rate", float),
        ("write_seconds", float),
        ("drain_seconds", float),
        ("spool_bytes", int),
        ("connections_per_peer", int),
        ("write_threads", int),
    )
    _param_map: ClassVar = dict(_params)

    ident = None
    recv_bytes = 262144
    channel_timeout = 60
    connection_limit = 2000
    backlog = 4096
    asyncore_loop_timeout = 1.0
    cleanup_interval = 1.0
    max_request_body_size = DEFAULT_LIMIT
    max_request_header_size = 65536
    inbuf_overflow = 65536
    """A smaller body is held in memory, a larger one in a temporary file (bytes)."""
    outbuf_overflow = 128 * 1024
    """What waits of a response above this is in a temporary file, not in memory."""
    outbuf_high_watermark = 2**40
    """No worker waits for a reader."""

    header_seconds = 15.0
    """From the connection, or from the first byte of a later request, to the end of its head."""
    body_min_rate = 1024.0
    """Minimum rate of a body in bytes a second, in each half minute."""
    write_seconds = 120.0
    """A connection that takes no byte of its response for this long is closed."""
    drain_seconds = 30.0
    """How long SIGTERM waits for running requests and downloads (T-F9)."""
    spool_bytes = 4 * 1024 * 1024 * 1024
    """Limit of all bodies together, in memory and in temporary files; for each process."""
    connections_per_peer = 512
    """Per IPv4 address or IPv6 /64; a trusted proxy has no limit, and limits its callers itself."""
    write_threads = 8
    """Worker threads for POST, PUT and DELETE; ``threads`` are those for reads."""

    def __init__(self, **settings: Any) -> None:
        _refuse_unreadable(settings, self._param_map)
        try:
            super().__init__(**settings)
        except ValueError as error:
            if str(error) != _NO_ADDRESS:
                raise
            raise ValueError("its address cannot be used; use listen = 127.0.0.1:6543 or listen = [::1]:6543") from None
        least = ("asyncore_loop_timeout", "cleanup_interval", "connection_limit", "connections_per_peer")
        for name in (*least, "spool_bytes", "threads", "write_threads"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above zero")
        if "forwarded" in self.trusted_proxy_headers:
            raise ValueError("trusted_proxy_headers: the header Forwarded is not read; use x-forwarded-for")
        for port in (str(settings.get("port", "")), *re.findall(r":([0-9]+)(?!\S)", str(settings.get("listen", "")))):
            if port.isdecimal() and int(port) > MAX_PORT:
                raise ValueError(f"{port} is not a port")
        self.socket_options = [*Adjustments.socket_options, *_limit_of_unsent()]
        self.default_rule = BodyRule(self.max_request_body_size)
        self.max_request_body_size = 2**62  # `Request` counts, waitress would answer without limitBytes
        self.rules: BodyRules | None = None
        self.body_bytes = 0
        self._lock = Lock()

    def find_peer(self, address: Any) -> str | None:
        """Who a connection from ``address`` counts for; None for a trusted proxy and a unix socket: no limit."""
        if not address or address[1] is None or self.trusted_proxy in {"*", address[0]}:
            return None
        return peer_of_address(address[0])

    def find_rule(self, method: str, path: str) -> BodyRule:
        """The application's rule for this request, else the default one."""
        rule = self.rules.find(method, path.removeprefix(self.url_prefix)) if self.rules is not None else None
        return rule or self.default_rule

    def has_room(self, size: int) -> bool:
        """Whether a body of ``size`` bytes would fit beside all others now."""
        if self.body_bytes + size <= self.spool_bytes:
            return True
        LIMITS_HIT.labels("spool_bytes").inc()
        log_sometimes(logger, logging.WARNING, "spool_bytes reached: requests are refused")
        return False

    def count_body(self, size: int) -> bool:
        """Count ``size`` more bytes of bodies, or fewer if it is negative; False if there are too many now."""
        with self._lock:
            self.body_bytes += size
        return size <= 0 or self.has_room(0)


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
    consequence = "slow readers may be cut although they read"
    with contextlib.suppress(AttributeError), optional_call("TCP_NOTSENT_LOWAT", consequence), socket.socket() as probe:
        option = (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        probe.setsockopt(*option)
        return [option]
    return []


def find_service_of(app: Any, kind: type[Service]) -> Service | None:
    """A service of the application, found through WSGI filters that keep what they wrap; None if it has none."""
    for _ in range(16):
        registry = getattr(app, "registry", None)
        if registry is not None:
            return find_optional_service(registry, kind)
        app = getattr(app, "application", None) or getattr(app, "app", None)
    return None


def raise_file_limit(connections: int) -> int:
    """Raise the soft limit of open files (to `MAX_FILES` at most) and return how many connections it allows.

    A connection takes up to four files: itself, a spooled body, what it downloads, what waits for its reader.
    """
    soft = resource.RLIM_INFINITY
    with optional_call("setrlimit", "few files may be open at once"):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        target = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
        if soft != resource.RLIM_INFINITY and soft < target:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    allowed = connections if soft == resource.RLIM_INFINITY else max(32, (soft - 256) // 4)
    if allowed < connections:
        logger.warning("connection_limit lowered to %d: this process may only open %d files", allowed, soft)
    return min(connections, allowed)
