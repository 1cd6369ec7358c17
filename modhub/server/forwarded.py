"""Forwarding headers of trusted proxies, normalised before waitress reads them.

waitress parses ``::ffff:192.0.2.1`` as a host with a port, so that all callers of a dual-stack proxy become one, and
fails with 500 on an entry without a host. It rejects a malformed header with bare text without our headers; so
malformed headers are rejected here.
"""

import logging
import math
import re
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from threading import Lock
from time import monotonic
from typing import Any, Final

from waitress.adjustments import Adjustments
from waitress.proxy_headers import PROXY_HEADERS, MalformedProxyHeader, clear_untrusted_headers, parse_proxy_headers

from modhub.base.body_rules import NOT_FORWARDED
from modhub.base.repeated_lines import log_sometimes
from modhub.server.protocol_errors import malformed_request

WARN_AGAIN_SECONDS = 3600
_HEADERS_OF_PROXIES = (*PROXY_HEADERS, "VIA", "X_REAL_IP", "X_CLIENT_IP", "TRUE_CLIENT_IP", "CF_CONNECTING_IP")
_FORWARDING: Final = frozenset(f"HTTP_{name}" for name in _HEADERS_OF_PROXIES)
UNIX_PEER = "localhost"
"""waitress's name for peers on a unix socket."""
logger = logging.getLogger("modhub.server")

_FOR = re.compile(r'(?i)(?<![^;,\s])for=("[^"]*"|[^;,]*)')
_WITH_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::[^:]*)?")
UNKNOWN = "unknown"
"""Callers without a valid address count as one (RFC 7239, 6.2)."""


class UntrustedProxyWarning:
    """Warns the operator that a nearby proxy is not trusted: at its first request, then at most once an hour.

    Otherwise everybody behind it would silently count as one caller, and ten wrong passwords would lock everybody out.
    """

    def __init__(self) -> None:
        self._next = -math.inf
        self._lock = Lock()

    def warn(self, peer: str, setting: str, value: str) -> None:
        """Warn that ``peer`` sent a header that names a caller, and that ``setting = value`` would make it count."""
        if monotonic() < self._next or not is_near(peer):
            return
        with self._lock:
            if monotonic() < self._next:
                return
            self._next = monotonic() + WARN_AGAIN_SECONDS
        logger.warning(
            "%s forwards requests for others but is not trusted: they all count as one caller, and ten wrong "
            "passwords lock everybody out. If it is your proxy, set %s = %s in [server:main] (see production.ini).",
            *(peer, setting, value),
        )


def is_near(peer: str) -> bool:
    """Whether ``peer`` is on this machine or in a private network, as an operator's own proxy would be."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer == UNIX_PEER
    return (getattr(address, "ipv4_mapped", None) or address).is_private


def forwarded_headers(app: Any, adj: Any) -> Any:
    """Replaces waitress's proxy middleware: applies the headers of trusted proxies and removes all others."""

    def translate(environ: dict[str, Any], start_response: Any) -> Any:
        untrusted = PROXY_HEADERS
        environ[NOT_FORWARDED] = _FORWARDING.isdisjoint(environ)
        normalize_forwarded_headers(environ, adj)
        if _is_trusted(adj, environ["REMOTE_ADDR"]):
            try:
                untrusted = parse_proxy_headers(
                    environ, adj.trusted_proxy_count, adj.trusted_proxy_headers, logger=logger
                )
            except MalformedProxyHeader as error:
                name = error.header.split()[0]  # "Forwarded Proto=" is one of waitress's
                log_sometimes(logger, logging.WARNING, "a trusted proxy sent a malformed %s header", name)
                return _error_response(f"The {name} header is malformed.", adj, start_response)
        if adj.clear_untrusted_proxy_headers:
            clear_untrusted_headers(environ, untrusted, adj.log_untrusted_proxy_headers, logger)
        return app(environ, start_response)

    return translate


def _error_response(message: str, adj: Any, start_response: Any) -> list[bytes]:
    status, headers, body = malformed_request(message).to_response()
    start_response(status, [*headers, *adj.error_headers, ("Content-Length", str(len(body)))])
    return [body]


def _is_trusted(adj: Adjustments, peer: str) -> bool:
    return adj.trusted_proxy in {"*", peer}


def forwarded_caller(headers: Mapping[str, str], adj: Adjustments) -> str | None:
    """The caller that a trusted proxy names in a request head, as the application will see it, or None."""
    trusted, hops = adj.trusted_proxy_headers, adj.trusted_proxy_count
    if "forwarded" in trusted:
        match = _FOR.search(",".join(_last_entries(headers.get("FORWARDED", ""), hops)))
        return caller_address(match[1]) if match else None
    if "x-forwarded-for" in trusted and "X_FORWARDED_FOR" in headers:
        return caller_address(_last_entries(headers["X_FORWARDED_FOR"], hops)[0])
    return None


def normalize_forwarded_headers(environ: dict[str, Any], adj: Any) -> None:
    """Rewrite the addresses in ``X-Forwarded-For`` and ``Forwarded``, only those added by trusted proxies.

    Nothing else is parsed: neither headers of untrusted peers nor what a client sent to the proxy, which may be long.
    """
    forwarded_for, forwarded = environ.get("HTTP_X_FORWARDED_FOR"), environ.get("HTTP_FORWARDED")
    if not _is_trusted(adj, environ["REMOTE_ADDR"]):
        if forwarded_for is not None or forwarded is not None or "HTTP_X_FORWARDED_PROTO" in environ:
            adj.proxy_warning.warn(environ["REMOTE_ADDR"], "trusted_proxy", environ["REMOTE_ADDR"])
        return
    trusted, hops = adj.trusted_proxy_headers, adj.trusted_proxy_count
    if forwarded_for is not None and not trusted & {"x-forwarded-for", "forwarded"}:
        header_names = "x-forwarded-for x-forwarded-proto x-forwarded-host"
        adj.proxy_warning.warn(environ["REMOTE_ADDR"], "trusted_proxy_headers", header_names)
    if forwarded_for is not None and "x-forwarded-for" in trusted:
        environ["HTTP_X_FORWARDED_FOR"] = ",".join(map(caller_address, _last_entries(forwarded_for, hops)))
    if forwarded is not None and "forwarded" in trusted:
        entries = ",".join(_last_entries(forwarded, hops))
        environ["HTTP_FORWARDED"] = _FOR.sub(lambda match: f'for="{caller_address(match[1])}"', entries)


def _last_entries(header: str, count: int) -> list[str]:
    return header.rsplit(",", count)[-count:]


def caller_address(entry: str) -> str:
    """An address without its port, IPv6 in brackets; `UNKNOWN` if it is not an address."""
    host = entry.strip().strip('"').strip()
    try:
        address = ip_address(host)
    except ValueError:
        match = _WITH_PORT.fullmatch(host)
        try:
            address = ip_address((match[1] or match[2] or "") if match else "")
        except ValueError:
            return UNKNOWN
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{IPv6Address(int(address))}]"
    return str(address)
