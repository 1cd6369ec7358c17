"""What a trusted proxy says of a request: who the caller is, spelled so that waitress reads it as it was meant.

waitress takes ``::ffff:192.0.2.1`` for a host with a port, which makes one caller of all who reach a proxy that listens
on both families, and fails with 500 at a name without a host. Its own refusal of a malformed header is bare text
without our headers, so that the refusal is made here.
"""

import logging
import math
import re
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from threading import Lock
from time import monotonic
from typing import Any

from waitress.adjustments import Adjustments
from waitress.proxy_headers import PROXY_HEADERS, MalformedProxyHeader, clear_untrusted_headers, parse_proxy_headers

from modhub.server.protocol_errors import malformed_request

WARN_AGAIN_SECONDS = 3600
UNIX_PEER = "localhost"
"""What waitress calls whoever comes by a unix socket."""
logger = logging.getLogger("modhub.server")

_FOR = re.compile(r'(?i)(?<![^;,\s])for=("[^"]*"|[^;,]*)')
_WITH_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::[^:]*)?")
UNKNOWN = "unknown"
"""Whoever is no address is one caller (RFC 7239, 6.2)."""


class UntrustedProxyWarning:
    """Tells the operator that a proxy nearby is not trusted: at its first request, then once an hour at most.

    Else all who come through it are one caller, without a word, and ten wrong passwords lock everybody out.
    """

    def __init__(self) -> None:
        self._next = -math.inf
        self._lock = Lock()

    def notice(self, peer: str, setting: str, value: str) -> None:
        """``peer`` has sent a header that names a caller, and ``setting`` does not say that it counts."""
        if monotonic() < self._next or not is_near(peer):
            return
        with self._lock:
            if monotonic() < self._next:
                return
            self._next = monotonic() + WARN_AGAIN_SECONDS
        logger.warning(
            "%s forwards requests of others and is not trusted: all of them count as one caller, whose ten wrong "
            "passwords lock out everybody. If it is your proxy, [server:main] needs %s = %s (production.ini shows it).",
            *(peer, setting, value),
        )


def is_near(peer: str) -> bool:
    """Whether ``peer`` is on this machine or in a private network, as one's own proxy is."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer == UNIX_PEER
    return (getattr(address, "ipv4_mapped", None) or address).is_private


def forwarded_headers(app: Any, adj: Any) -> Any:
    """waitress's middleware of this purpose: the environ says what the proxy says; nobody else's words stay in it."""

    def translate(environ: dict[str, Any], start_response: Any) -> Any:
        untrusted = PROXY_HEADERS
        name_callers(environ, adj)
        if _trusts(adj, environ["REMOTE_ADDR"]):
            try:
                untrusted = parse_proxy_headers(
                    environ, adj.trusted_proxy_count, adj.trusted_proxy_headers, logger=logger
                )
            except MalformedProxyHeader as problem:
                name = problem.header.split()[0]  # "Forwarded Proto=" is one of waitress's
                logger.warning("a trusted proxy sent a malformed %s header", name)
                return _refuse(f"The {name} header is malformed.", adj, start_response)
        if adj.clear_untrusted_proxy_headers:
            clear_untrusted_headers(environ, untrusted, adj.log_untrusted_proxy_headers, logger)
        return app(environ, start_response)

    return translate


def _refuse(message: str, adj: Any, start_response: Any) -> list[bytes]:
    status, headers, body = malformed_request(message).answer()
    start_response(status, [*headers, *adj.fault_headers, ("Content-Length", str(len(body)))])
    return [body]


def _trusts(adj: Adjustments, peer: str) -> bool:
    return adj.trusted_proxy in {"*", peer}


def named_caller(fields: Mapping[str, str], adj: Adjustments) -> str | None:
    """Whom a trusted proxy names in the head of a request, as the application will see it; None: nobody."""
    trusted, most = adj.trusted_proxy_headers, adj.trusted_proxy_count
    if "forwarded" in trusted:
        found = _FOR.search(",".join(_last(fields.get("FORWARDED", ""), most)))
        return caller_address(found[1]) if found else None
    if "x-forwarded-for" in trusted and "X_FORWARDED_FOR" in fields:
        return caller_address(_last(fields["X_FORWARDED_FOR"], most)[0])
    return None


def name_callers(environ: dict[str, Any], adj: Any) -> None:
    """Rewrite the addresses in ``X-Forwarded-For`` and ``Forwarded``: what the trusted proxies have added, no more.

    Nobody else's header is looked at, nor what a client sent to the proxy: those may be as long as a head may be.
    """
    listed, elements = environ.get("HTTP_X_FORWARDED_FOR"), environ.get("HTTP_FORWARDED")
    if not _trusts(adj, environ["REMOTE_ADDR"]):
        if listed is not None or elements is not None or "HTTP_X_FORWARDED_PROTO" in environ:
            adj.forgotten.notice(environ["REMOTE_ADDR"], "trusted_proxy", environ["REMOTE_ADDR"])
        return
    trusted, most = adj.trusted_proxy_headers, adj.trusted_proxy_count
    if listed is not None and not trusted & {"x-forwarded-for", "forwarded"}:
        names = "x-forwarded-for x-forwarded-proto x-forwarded-host"
        adj.forgotten.notice(environ["REMOTE_ADDR"], "beside trusted_proxy also trusted_proxy_headers", names)
    if listed is not None and "x-forwarded-for" in trusted:
        environ["HTTP_X_FORWARDED_FOR"] = ",".join(caller_address(one) for one in _last(listed, most))
    if elements is not None and "forwarded" in trusted:
        last = ",".join(_last(elements, most))
        environ["HTTP_FORWARDED"] = _FOR.sub(lambda found: f'for="{caller_address(found[1])}"', last)


def _last(listed: str, most: int) -> list[str]:
    return listed.rsplit(",", most)[-most:]


def caller_address(sent: str) -> str:
    """An address without its port, of IPv6 in brackets; `UNKNOWN` for what is none."""
    name = sent.strip().strip('"').strip()
    try:
        address = ip_address(name)
    except ValueError:
        found = _WITH_PORT.fullmatch(name)
        try:
            address = ip_address((found[1] or found[2] or "") if found else "")
        except ValueError:
            return UNKNOWN
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{IPv6Address(int(address))}]"
    return str(address)
