"""The callers that a trusted proxy names, spelled so that waitress reads each as it was meant (decisions 3.5).

waitress takes ``::ffff:192.0.2.1`` for a host with a port, which makes one caller of all who reach a proxy that listens
on both families, and fails with 500 at a name without a host. Which proxy is trusted is waitress's business.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import Any

from waitress.adjustments import Adjustments

_FOR = re.compile(r'(?i)(?<![^;,\s])for=("[^"]*"|[^;,]*)')
_WITH_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::[^:]*)?")
UNKNOWN = "unknown"
"""Whoever is no address is one caller (RFC 7239, 6.2)."""


def name_callers(environ: dict[str, Any], adj: Adjustments) -> None:
    """Rewrite the addresses in ``X-Forwarded-For`` and ``Forwarded``: what the trusted proxies have added, no more.

    Nobody else's header is looked at, nor what a client sent to the proxy: those may be as long as a head may be.
    """
    if adj.trusted_proxy not in {"*", environ["REMOTE_ADDR"]}:
        return
    trusted, most = adj.trusted_proxy_headers, adj.trusted_proxy_count
    listed, elements = environ.get("HTTP_X_FORWARDED_FOR"), environ.get("HTTP_FORWARDED")
    if listed is not None and "x-forwarded-for" in trusted:
        environ["HTTP_X_FORWARDED_FOR"] = ",".join(caller(one) for one in _last(listed, most))
    if elements is not None and "forwarded" in trusted:
        last = ",".join(_last(elements, most))
        environ["HTTP_FORWARDED"] = _FOR.sub(lambda found: f'for="{caller(found[1])}"', last)


def _last(listed: str, most: int) -> list[str]:
    return listed.rsplit(",", most)[-most:]


def caller(sent: str) -> str:
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
