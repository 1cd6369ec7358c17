"""Who counts as one caller."""

from ipaddress import IPv6Address, IPv6Network, ip_address


def peer_of_address(address: str) -> str:
    """The peer of an address: its IPv4 address or IPv6 /64; anything else is returned as it is."""
    try:
        parsed = ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))
