"""Who counts as one caller, and whether the caller of a request is still there."""

from collections.abc import Callable
from contextvars import ContextVar
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

_has_left: ContextVar[Callable[[], bool] | None] = ContextVar("modhub caller", default=None)


def peer_of_address(address: str) -> str:
    """The peer of an address: its IPv4 address or IPv6 /64; anything else is returned as it is."""
    try:
        parsed = ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))


def note_caller(environ: dict[str, Any]) -> None:
    """The request with this environ runs in this thread from now on."""
    _has_left.set(environ.get("waitress.client_disconnected"))


def caller_has_left() -> bool:
    """Whether the caller of the request in this thread has closed the connection; False where nobody can tell.

    Ask after a wait, before dear work: nobody reads what it yields (T-D22).
    """
    has_left = _has_left.get()
    return has_left is not None and has_left()
