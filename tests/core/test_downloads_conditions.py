"""RFC 9110, sections 13 and 14: a table of conditional and range headers."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modhub.web.conditions import Validators, evaluate

ETAG = '"' + "a" * 64 + '"'
OTHER = '"' + "b" * 64 + '"'
MODIFIED = datetime(2026, 11, 21, 8, 15, 30, 123456, tzinfo=UTC)
SAME = "Sat, 21 Nov 2026 08:15:30 GMT"
BEFORE = "Sat, 21 Nov 2026 08:15:29 GMT"
AFTER = "Sat, 21 Nov 2026 08:15:31 GMT"
KNOWN = Validators(ETAG, MODIFIED)
SIZE = 1000


def judge(headers, method="GET", size=SIZE):
    return evaluate(method, headers, KNOWN, size)


def status(headers, method="GET"):
    return int(judge(headers, method).status)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("expected", "headers"),
    [
        (200, {}),
        # 1: If-Match, strong
        (200, {"If-Match": "*"}),
        (200, {"If-Match": ETAG}),
        (200, {"If-Match": f'"x,y" ,, W/"a",\t{ETAG}'}),
        (412, {"If-Match": OTHER}),
        (412, {"If-Match": f"W/{ETAG}"}),
        # 2: If-Unmodified-Since, only without If-Match
        (200, {"If-Unmodified-Since": SAME}),
        (412, {"If-Unmodified-Since": BEFORE}),
        (200, {"If-Match": ETAG, "If-Unmodified-Since": BEFORE}),
        (412, {"If-Match": OTHER, "If-Unmodified-Since": AFTER}),
        # 3: If-None-Match, weak
        (304, {"If-None-Match": "*"}),
        (304, {"If-None-Match": ETAG}),
        (304, {"If-None-Match": f"W/{ETAG}"}),
        (200, {"If-None-Match": OTHER}),
        (200, {"If-None-Match": f'{ETAG}, "'}),
        # 4: If-Modified-Since, only without If-None-Match
        (304, {"If-Modified-Since": SAME}),
        (304, {"If-Modified-Since": "Saturday, 21-Nov-26 08:15:30 GMT"}),
        (200, {"If-Modified-Since": BEFORE}),
        (200, {"If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"}),
        (200, {"If-None-Match": OTHER, "If-Modified-Since": SAME}),
        (304, {"If-None-Match": ETAG, "If-Modified-Since": BEFORE}),
        # the order
        (412, {"If-Match": OTHER, "If-None-Match": ETAG}),
        (304, {"If-Match": ETAG, "If-None-Match": ETAG, "Range": "bytes=0-1"}),
        (304, {"If-Modified-Since": SAME, "Range": "bytes=9999-"}),
    ],
)
def test_conditions(method, expected, headers):
    # C-HTTP-8
    assert status(headers, method) == expected


@pytest.mark.parametrize(
    ("date", "since", "unless"), [(SAME, 304, 200), (BEFORE, 200, 412), (AFTER, 200, 412), ("", 200, 200)]
)
def test_at_an_address_that_may_lead_to_an_older_file_a_date_must_be_the_files_own(date, since, unless):
    known = Validators(ETAG, MODIFIED, moving=True)
    assert evaluate("GET", {"If-Modified-Since": date}, known, SIZE).status == since
    assert evaluate("GET", {"If-Unmodified-Since": date}, known, SIZE).status == unless
    assert evaluate("GET", {"If-Modified-Since": date, "If-None-Match": OTHER}, known, SIZE).status == 200


WHOLE = (200, 0, SIZE)
NONE = (416, 0, 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bytes=0-0", (206, 0, 1)),
        ("bytes=0-1000", (206, 0, SIZE)),
        ("bytes=990-5000", (206, 990, SIZE)),
        ("bytes=-5000", (206, 0, SIZE)),
        ("bytes=0-" + "9" * 10_000, (206, 0, SIZE)),
        # nothing of it is there
        ("bytes=1000-", NONE),
        ("bytes=-0", NONE),
        # not a range that we understand: as if it were not there
        ("bytes=5-4", WHOLE),
        (f"bytes={10**30}-5", WHOLE),
        ("bytes=-", WHOLE),
        ("bytes=1_0-2_0", WHOLE),
        ("bytes=٣-٤", WHOLE),
        # several ranges
        ("bytes=0-1,3-4", WHOLE),
        ("bytes=" + ",".join(f"{n}-{n}" for n in range(10_000)), WHOLE),
    ],
)
def test_ranges(value, expected):
    # C-FILE-2, C-HTTP-8, T-D9
    outcome = judge({"Range": value})
    assert (int(outcome.status), outcome.start, outcome.stop) == expected
    assert judge({"Range": value}, "HEAD") == judge({}), "only GET has ranges (14.2)"


def test_ranges_of_an_empty_file():
    assert [int(judge({"Range": value}, size=0).status) for value in ("bytes=0-", "bytes=-5")] == [416, 200]


FIELDS = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"]
VALUES = st.one_of(
    st.sampled_from([ETAG, OTHER, SAME, BEFORE, "*"]),
    st.text(st.characters(max_codepoint=255), max_size=60),
    st.text(st.sampled_from('bytes=-0123456789,W/" *aGMT:'), max_size=60),
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES), st.sampled_from(["GET", "HEAD"]), st.integers(0, 2000))
@example({"If-Modified-Since": "Mon, 01 Jan 0000 00:00:00 GMT"}, "GET", 1)
@example({"If-Modified-Since": "Fri, 31 Dec 9999 23:59:59 GMT"}, "GET", 1)
def test_nothing_a_client_sends_raises(headers, method, size):
    # C-HTTP-8, T-D9
    outcome = evaluate(method, headers, KNOWN, size)
    assert int(outcome.status) in {200, 206, 304, 412, 416}
    assert 0 <= outcome.start <= outcome.stop <= size
    if outcome.status == 206:
        assert outcome.start < outcome.stop
    if outcome.status == 200:
        assert (outcome.start, outcome.stop) == (0, size)
