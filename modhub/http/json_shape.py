"""What a JSON body must be before it is parsed: UTF-8, and nested no deeper than :data:`modhub.limits.JSON_DEPTH`.

A piece at a time: each step takes a millisecond at most, so that other threads get their turn between two of them, and
the first level too many ends the look.
"""

import codecs
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from modhub.errors import invalid
from modhub.limits import JSON_DEPTH

PIECE: Final = 64 * 1024

_MARKS: Final = b'"[]{}'
_OTHERS: Final = bytes(char for char in range(256) if char not in _MARKS)
_STEPS: Final = bytes(1 if char in b"[{" else 0xFF for char in range(256))


def check_shape(body: bytes) -> None:
    """Refuse with 400 what is no UTF-8 or too deep. Whether it is JSON is for the parser to say."""
    if not body.isascii():
        _check_utf8(body)
    if body.count(b"[") + body.count(b"{") > JSON_DEPTH:
        _check_depth(body)


def _check_utf8(body: bytes) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(body), PIECE):
            decoder.decode(body[at : at + PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise invalid("The body is not UTF-8.") from error


def _check_depth(body: bytes) -> None:
    depth = 0
    for steps in _brackets(body):
        if depth + len(steps) > JSON_DEPTH and max(accumulate(steps, initial=depth)) > JSON_DEPTH:
            raise invalid(f"The JSON in the body nests deeper than {JSON_DEPTH} levels.")
        depth += sum(steps)


def _brackets(body: bytes) -> Iterator[memoryview]:
    """The brackets outside strings, a piece at a time: 1 for each that opens, -1 for each that closes."""
    inside, carried = False, b""
    for at in range(0, len(body), PIECE):
        # What a backslash escapes ends no string. One at the end of a piece escapes the beginning of the next.
        piece = (carried + body[at : at + PIECE]).replace(b"\\\\", b"").replace(b'\\"', b"")
        carried = b"\\" if piece.endswith(b"\\") else b""
        # Two quotes side by side begin and end a string without brackets, or end one and begin the next.
        parts = piece.translate(None, _OTHERS).replace(b'""', b"").split(b'"')
        outside = b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        yield memoryview(outside.translate(_STEPS)).cast("b")
