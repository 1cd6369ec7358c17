"""The callers that a trusted proxy names, spelled so that waitress reads each as it was meant (decisions 3.5).

waitress takes ``::ffff:192.0.2.1`` for a host with a port, which makes one caller of all who reach a proxy that listens
on both families, and fails with 500 at a name without a host. Which proxy is trusted is waitress's business.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import Any

_FOR = re.compile(r'(?i)(?<![^;,\s])for=("[^"]*"|[^;,]*)')
_WITH_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::[^:]*)?")
UNKNOWN = "unknown"
"""Whoever is no address is one caller (RFC 7239, 6.2)."""


def name_callers(environ: dict[str, Any]) -> None:
    """Rewrite the addresses in ``X-Forwarded-For`` and ``Forwarded``."""
    listed = environ.get("HTTP_X_FORWARDED_FOR")
    if listed is not None:
        environ["HTTP_X_FORWARDED_FOR"] = ",".join(caller(one) for one in listed.split(","))
    elements = environ.get("HTTP_FORWARDED")
    if elements is not None:
        environ["HTTP_FORWARDED"] = _FOR.sub(lambda found: f'for="{caller(found[1])}"', elements)


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
