"""Checks on a JSON body before it is parsed: UTF-8, and nesting up to :data:`modhub.content.limits.JSON_DEPTH`.

Works in chunks of a millisecond at most, so that other threads get their turn in between, and stops at the first level
too deep.
"""

import codecs
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from modhub.base.errors import invalid
from modhub.content.limits import JSON_DEPTH

CHUNK_BYTES: Final = 64 * 1024

_MARKS: Final = b'"[]{}'
_OTHERS: Final = bytes(char for char in range(256) if char not in _MARKS)
_STEPS: Final = bytes(1 if char in b"[{" else 0xFF for char in range(256))


def check_shape(body: bytes) -> None:
    """Raise 400 if the body is not UTF-8 or too deep. Whether it is JSON is left to the parser."""
    if not body.isascii():
        _check_utf8(body)
    if body.count(b"[") + body.count(b"{") > JSON_DEPTH:
        _check_depth(body)


def _check_utf8(body: bytes) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), CHUNK_BYTES):
            decoder.decode(body[start : start + CHUNK_BYTES])
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
    """The brackets outside strings, in chunks: 1 for each opening one, -1 for each closing one."""
    in_string, carry = False, b""
    for start in range(0, len(body), CHUNK_BYTES):
        # Escaped characters do not end a string. A backslash at the end of a chunk escapes the start of the next one.
        chunk = (carry + body[start : start + CHUNK_BYTES]).replace(b"\\\\", b"").replace(b'\\"', b"")
        carry = b"\\" if chunk.endswith(b"\\") else b""
        # Two quotes side by side begin and end a string without brackets, or end one and begin the next.
        segments = chunk.translate(None, _OTHERS).replace(b'""', b"").split(b'"')
        outside = b"".join(segments[in_string::2])
        in_string ^= len(segments) % 2 == 0
        yield memoryview(outside.translate(_STEPS)).cast("b")
