"""Validates plain https origins of other machines: hosts as in the URL standard, except those that lead back inside."""

import re
import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_ORIGIN: Final = re.compile(r"https://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?/?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PUNYCODE: Final = "xn--"
# Characters that the URL standard drops although Unicode counts them as marks or letters, and U+FFFD.
_DROPPED: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\ufffd\U000e0100-\U000e01ef]"
)
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})

_NETWORKS: Final = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("255.255.255.255/32"),
    IPv6Network("2001::/32"),  # Teredo
)
_METADATA: Final = frozenset(
    {
        IPv4Address("100.100.100.200"),
        IPv4Address("168.63.129.16"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd20:ce::254"),
    }
)
"""Cloud metadata services, besides the link-local 169.254.169.254."""
_METADATA_NAMES: Final = re.compile(
    r"(?:metadata|instance-data)(?:\..+\.internal|\.internal)?"  # metadata.google.internal, metadata.azure.internal
    r"|metadata\.goog|metadata\.tencentyun\.com|api\.metadata\.cloud\.ibm\.com"
)
_EMBEDDING: Final = tuple(
    IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
"""IPv6 addresses whose last 32 bits are an IPv4 address: compatible, mapped, translated."""


def parse_origin(value: str) -> str:
    """``https://host[:port]`` in lower case without the default port; ``ValueError`` if it is not a plain https origin.

    Nothing is trimmed or repaired. A host is a name that a browser accepts, or the address literal of another machine.
    """
    match = _ORIGIN.fullmatch(value.lower()) if value.isascii() else None
    if match is None:
        raise ValueError("not an origin")
    port = int(match[2] or 443)
    if port > 65535:
        raise ValueError("not a port")
    host = _normalize_ipv6_literal(match[1]) if match[1].startswith("[") else _normalize_hostname(match[1])
    return f"https://{host}" + ("" if port == 443 else f":{port}")


def _normalize_ipv6_literal(bracketed: str) -> str:
    address = IPv6Address(bracketed[1:-1])
    _refuse_special(address)
    for inner in _embedded(address):
        _refuse_special(inner)
    return f"[{address.compressed}]"


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address may reach."""
    low_bits = IPv4Address(int(address) & 0xFFFFFFFF)
    addresses = [low_bits] if any(address in network for network in _EMBEDDING) else []
    return [*addresses, address.sixtofour] if address.sixtofour else addresses


def _normalize_hostname(host: str) -> str:
    hostname = host.removesuffix(".")
    labels = hostname.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # A browser reads 127.1 or 0x7f000001 as an address (WHATWG URL, "ends in a number"): allow plain ones only.
        address = IPv4Address(host)
        _refuse_special(address)
        return str(address)
    is_inside = labels[-1] == "localhost" or _METADATA_NAMES.fullmatch(hostname)
    if len(host) > 253 or is_inside or not all(map(_is_label, labels)):
        raise ValueError("not a host")
    return host


def _is_label(label: str) -> bool:
    """Whether a browser accepts this label; Punycode must be exactly what a browser would encode (UTS 46)."""
    if _LABEL.fullmatch(label) is None:
        return False
    if not label.startswith(_PUNYCODE):
        return True
    encoded = label.removeprefix(_PUNYCODE)
    try:
        decoded = encoded.encode().decode("punycode")
        is_canonical = decoded.encode("punycode").decode() == encoded
    except (UnicodeError, OverflowError):
        return False
    return is_canonical and not decoded.isascii() and _is_valid_unicode(decoded)


def _is_valid_unicode(label: str) -> bool:
    if unicodedata.normalize("NFKC", label) != label or label.lower() != label or _DROPPED.search(label):
        return False
    categories = [unicodedata.category(char) for char in label]
    return categories[0][0] != "M" and _REFUSED.isdisjoint(categories) and _has_one_direction(label)


def _has_one_direction(label: str) -> bool:
    """The main rule of RFC 5893: a label is right-to-left, or contains nothing that is."""
    directions = [unicodedata.bidirectional(char) for char in label]
    if directions[0] in _RIGHT_TO_LEFT:
        return "L" not in directions
    return _RIGHT_TO_LEFT.isdisjoint(directions) and "AN" not in directions


def _refuse_special(address: IPv4Address | IPv6Address) -> None:
    is_internal = any((address.is_loopback, address.is_link_local, address.is_multicast, address.is_unspecified))
    if is_internal or address in _METADATA or any(address in network for network in _NETWORKS):
        raise ValueError("an address that no other machine can use")
