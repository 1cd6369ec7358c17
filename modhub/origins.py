"""What is a plain https origin of another machine (the URL standard's hosts, without those that lead back inside)."""

import re
import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_ORIGIN: Final = re.compile(r"https://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?/?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PUNYCODE: Final = "xn--"
# What the URL standard drops from a name although Unicode has it among marks and letters, and U+FFFD.
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
"""Where machines of a cloud ask who they are, besides the link-local 169.254.169.254."""
_METADATA_NAMES: Final = frozenset(
    {
        "api.metadata.cloud.ibm.com",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.tencentyun.com",
    }
)
_EMBEDDING: Final = tuple(
    IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
"""IPv6 addresses whose last 32 bits are an IPv4 address: compatible, mapped, translated."""


def parse_origin(value: str) -> str:
    """``https://host[:port]`` in lower case without the default port; ``ValueError`` for what is no plain https origin.

    Taken as sent: nothing is trimmed or repaired. A host is a name that a browser would take, or the literal of an
    address that other machines can have.
    """
    match = _ORIGIN.fullmatch(value.lower()) if value.isascii() else None
    if match is None:
        raise ValueError("no origin")
    port = int(match[2] or 443)
    if port > 65535:
        raise ValueError("no port")
    host = _literal(match[1]) if match[1].startswith("[") else _name(match[1])
    return f"https://{host}" + ("" if port == 443 else f":{port}")


def _literal(bracketed: str) -> str:
    address = IPv6Address(bracketed[1:-1])
    _refuse_special(address)
    for inner in _embedded(address):
        _refuse_special(inner)
    return f"[{address.compressed}]"


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 one may reach."""
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    found = [last] if any(address in network for network in _EMBEDDING) else []
    return [*found, address.sixtofour] if address.sixtofour else found


def _name(host: str) -> str:
    plain = host.removesuffix(".")
    labels = plain.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # A browser would read 127.1 or 0x7f000001 as an address (WHATWG URL, "ends in a number"): plain ones alone.
        address = IPv4Address(host)
        _refuse_special(address)
        return str(address)
    if len(host) > 253 or labels[-1] == "localhost" or plain in _METADATA_NAMES or not all(map(_is_label, labels)):
        raise ValueError("no host")
    return host


def _is_label(label: str) -> bool:
    """Whether a browser takes this part of a name; what is in Punycode must be what it would write (UTS 46)."""
    if _LABEL.fullmatch(label) is None:
        return False
    if not label.startswith(_PUNYCODE):
        return True
    encoded = label.removeprefix(_PUNYCODE)
    try:
        shown = encoded.encode().decode("punycode")
        same = shown.encode("punycode").decode() == encoded
    except (UnicodeError, OverflowError):
        return False
    return same and not shown.isascii() and _is_written(shown)


def _is_written(shown: str) -> bool:
    if unicodedata.normalize("NFKC", shown) != shown or shown.lower() != shown or _DROPPED.search(shown):
        return False
    kinds = [unicodedata.category(char) for char in shown]
    return kinds[0][0] != "M" and _REFUSED.isdisjoint(kinds) and _is_one_way(shown)


def _is_one_way(shown: str) -> bool:
    """The rule of RFC 5893 in the main: a part is written from the right, or has nothing that is."""
    ways = [unicodedata.bidirectional(char) for char in shown]
    if ways[0] in _RIGHT_TO_LEFT:
        return "L" not in ways
    return _RIGHT_TO_LEFT.isdisjoint(ways) and "AN" not in ways


def _refuse_special(address: IPv4Address | IPv6Address) -> None:
    inside = any((address.is_loopback, address.is_link_local, address.is_multicast, address.is_unspecified))
    if inside or address in _METADATA or any(address in network for network in _NETWORKS):
        raise ValueError("an address that no other machine can use")
