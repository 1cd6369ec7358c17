"""The head of a request, parsed strictly so that it has only one interpretation (RFC 9112; T-D1).

Whatever another HTTP implementation could read differently is rejected with 400, 501 or 505.
"""

import re
from dataclasses import dataclass

from modhub.server.protocol_errors import ProtocolError, malformed_request

BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")
MAX_HEADER_LINES = 200

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Z]+) ([\x21-\x7e\x80-\xff]+) HTTP/([0-9]\.[0-9])")
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)")
_REG_NAME = r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
_HOST = re.compile(rf"(?:\[[0-9A-Fa-f:.]+\]|{_REG_NAME})(?::([0-9]{{0,5}}))?")
_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)

_SINGLE = frozenset(("CONTENT_LENGTH", "HOST", "TRANSFER_ENCODING"))
_DOUBLED_CREDENTIAL = {"AUTHORIZATION": "Bearer , doubled", "X_API_KEY": ", doubled"}
"""What the application sees for a credential sent twice. No key or token contains a space, so the application responds
with its own 401 and prefers neither of the two (T-C10, T-C11)."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request line and its fields; ``target`` in origin form (raw bytes), names like ``CONTENT_TYPE``."""

    method: str
    target: bytes
    version: str
    fields: dict[str, str]


def parse_head(block: bytes) -> Head:
    """Parse a whole head, up to and including the empty line; `ProtocolError` for anything ambiguous."""
    if _CONTROL.search(block):
        raise malformed_request("The request head contains control characters.")
    first, *lines = block.split(b"\r\n")[:-2]
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise malformed_request("The request line is malformed.")
    method, target, version = match[1].decode(), match[2], match[3].decode()
    if version not in ("1.0", "1.1"):
        raise ProtocolError(505, "This server speaks HTTP/1.0 and HTTP/1.1.")
    fields = _fields(lines)
    if "HOST" in fields or version == "1.1":
        _check_host(fields.get("HOST", ""))
    return Head(method, _origin_form(method, target), version, fields)


def body_length(version: str, fields: dict[str, str]) -> int | None:
    """Length of the body in bytes; None if chunked. Both framings at once are rejected, not ranked (RFC 9112, 6.1)."""
    coding, length = fields.get("TRANSFER_ENCODING"), fields.get("CONTENT_LENGTH")
    if coding is not None:
        if length is not None:
            raise malformed_request("Content-Length and Transfer-Encoding exclude each other.")
        if version == "1.0":
            raise malformed_request("Transfer-Encoding has no meaning in HTTP/1.0.")
        codings = [coding_name.strip(" \t").lower() for coding_name in coding.split(",")]
        if codings == ["chunked"]:
            return None
        if "" in codings or codings.count("chunked") > 1:
            raise malformed_request("Transfer-Encoding is malformed.")
        raise ProtocolError(501, "The only transfer coding taken is chunked.")
    if length is None:
        return 0
    if not _DIGITS.fullmatch(length):
        raise malformed_request("Content-Length is not a plain number.")
    return int(length)


def _fields(lines: list[bytes]) -> dict[str, str]:
    """The fields by name. Names with an underscore are dropped: they would spoof the hyphenated name."""
    if len(lines) > MAX_HEADER_LINES:
        raise ProtocolError(431, f"A request has at most {MAX_HEADER_LINES} header lines.")
    fields: dict[str, str] = {}
    for line in lines:
        raw, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(raw):
            raise malformed_request("A header line is malformed.")
        if b"_" in raw:
            continue
        name = raw.decode().upper().replace("-", "_")
        text = value.strip(b" \t").decode("latin-1")
        fields[name] = _combine_duplicates(name, fields[name], text) if name in fields else text
    return fields


def _combine_duplicates(name: str, first: str, second: str) -> str:
    if name in _SINGLE:
        raise malformed_request(f"The header {name.replace('_', '-').title()} came twice.")
    if name in _DOUBLED_CREDENTIAL:
        return _DOUBLED_CREDENTIAL[name]
    return f"{first}{'; ' if name == 'COOKIE' else ', '}{second}"


def _check_host(host: str) -> None:
    """Host is not used for anything, but a malformed or missing one is 400 (C-HTTP-6; RFC 9112, 3.2)."""
    match = _HOST.fullmatch(host)
    if match is None or int(match[1] or 0) > 65535:
        raise malformed_request("The Host header is missing or malformed.")


def _origin_form(method: str, target: bytes) -> bytes:
    """Path and query only: the authority of an absolute target is not used either."""
    if target.startswith(b"/"):
        return target
    match = _ABSOLUTE.match(target)
    if match is None:
        if method == "CONNECT":
            raise ProtocolError(405, "This server opens no tunnels.")
        raise malformed_request("The request target is neither a path nor an http address.")
    _check_host(match[1].decode("latin-1"))
    rest = target[match.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest
