"""The addresses that owners and authors may show: https, to a name that everybody can read (C-PRF-2)."""

import re
from typing import Final
from urllib.parse import quote, urlsplit

import idna

from modhub.base.errors import ApiError, invalid
from modhub.content import text
from modhub.content.origins import parse_origin
from modhub_profiles.limits import MAX_LINK

_ADDRESS: Final = re.compile(r"https://([^/?#\\\s]+)([/?#][^\\\s]*)?", re.IGNORECASE)
_PORT: Final = re.compile(r":[0-9]*\Z")
_IPV4: Final = re.compile(r"[0-9.]+")
_RESERVED: Final = "/?#[]@!$&'()*+,;=:%~"
"""What an address may contain besides letters, digits and ``-._`` (RFC 3986)."""


def clean_link(value: str, field: str) -> str:
    """The address as it is stored, in ASCII, empty for an empty one; 400 that names ``field``.

    A host with other letters is encoded as browsers encode it, so that readers see where a link leads.
    """
    # Not cut at the limit: the rest could be a shorter address that leads elsewhere.
    typed = text.line(value, 2 * MAX_LINK)
    if not typed:
        return ""
    if len(typed) > MAX_LINK:
        raise _too_long(field)
    match = _ADDRESS.fullmatch(typed)
    if match is None:
        raise invalid("The field %(field)s must be an https address, such as https://example.org/wiki.", field=field)
    if "@" in match[1]:
        raise invalid("The address in %(field)s must not contain a user name or password.", field=field)
    address = f"https://{_clean_host(match[1], field)}" + quote(match[2] or "", safe=_RESERVED)
    if len(address) > MAX_LINK:
        raise _too_long(field)
    return address


def with_scheme(typed: str) -> str:
    """What somebody typed as an address, with ``https://`` where it has no scheme."""
    typed = typed.strip()
    return f"https://{typed}" if typed and "://" not in typed else typed


def host_of(address: str) -> str:
    """The host of a stored address, with its port, as readers see it."""
    return urlsplit(address).netloc


def _clean_host(authority: str, field: str) -> str:
    port = _PORT.search(authority)
    name = authority[: port.start()] if port else authority
    try:
        encoded = name.lower() if name.isascii() else idna.encode(name, uts46=True).decode("ascii")
        origin = parse_origin(f"https://{encoded}{port[0] if port else ''}")
    except (ValueError, UnicodeError):
        raise _no_host(field) from None
    host = origin.removeprefix("https://")
    # Numbers hide whose machine it is, and a name without a dot is one of the reader's own network.
    if host.startswith("[") or _IPV4.fullmatch(_PORT.sub("", host)) or "." not in host.strip("."):
        raise _no_host(field)
    return host


def _no_host(field: str) -> ApiError:
    return invalid("The address in %(field)s must name a public host, such as example.org, not a number.", field=field)


def _too_long(field: str) -> ApiError:
    return invalid("The address in %(field)s may have at most %(most)s characters.", field=field, most=MAX_LINK)
