import time
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modhub.base.errors import ApiError
from modhub.content.limits import JSON_BODY, JSON_DEPTH
from modhub.web import json_shape
from modhub.web.json_shape import CHUNK_BYTES, check_shape

pytestmark = pytest.mark.slow

ASIDE = b"[]," * (JSON_DEPTH + 6)
"""Brackets enough that the body has to be looked at, none of them deep."""


def refused(body):
    try:
        check_shape(body)
    except ApiError as refusal:
        return (refusal.status, refusal.message) == (400, "The JSON in the body nests deeper than 64 levels.")
    return False


def depth(body):
    """How deep ``body`` nests, by the grammar, a character at a time."""
    deepest = level = 0
    inside = escaped = False
    for char in body.decode():
        if inside:
            inside = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside = True
        else:
            level += (char in "[{") - (char in "]}")
            deepest = max(deepest, level)
    return deepest


# Outside strings JSON has no backslash: a parser ends there, whatever comes after it.
PARTS = st.sampled_from(["[", "{", "]", "}", "[" * 30, "]" * 30, '"[{"', '"\\\\"', '"\\"["', '"\\\\\\""', "é", "1,"])


@pytest.mark.parametrize("piece", [1, 3, CHUNK_BYTES])
@given(parts=st.lists(PARTS, max_size=40))
@settings(deadline=None, max_examples=200)
def test_the_depth_is_right_wherever_a_chunk_ends(piece, parts):
    body = "".join(parts).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_shape, "CHUNK_BYTES", piece)
        assert refused(body) == (depth(body) > JSON_DEPTH)


@pytest.mark.parametrize("end", [b"\xc3", b"\xed\xa0\x80"])
@pytest.mark.parametrize("before", [0, CHUNK_BYTES - 1, CHUNK_BYTES])
def test_invalid_utf8_is_rejected_everywhere(before, end):
    for body in (b" " * before + end, b" " * before + end + b"x"):
        with pytest.raises(ApiError, match="The body is not UTF-8"):
            check_shape(body)
    check_shape(b" " * before + "é😀".encode())


def spent(work):
    """The processor time that ``work`` takes, the best of three."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


@pytest.fixture(scope="module")
def pass_seconds():
    """How long one step for each byte of the largest body takes here."""
    return spent(lambda: max(accumulate(memoryview(bytes(JSON_BODY)).cast("b"))))


@pytest.mark.parametrize("pattern", [b'\\"', b"1,", b"[],"])
@pytest.mark.slow
def test_the_worst_bodies_take_a_step_a_byte_and_no_more(pass_seconds, pattern):
    # T-D4
    begin = b"[" + ASIDE + (b'"' if pattern.startswith(b"\\") else b"")
    body = begin + pattern * ((JSON_BODY - len(begin)) // len(pattern))
    # Measured: once to twice that; what reads a byte again and again takes a hundred times as long.
    assert spent(lambda: refused(body)) < 10 * pass_seconds
