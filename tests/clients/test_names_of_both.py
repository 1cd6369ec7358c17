"""The service names members of archives as modhub-get names files: the rule is written twice."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from modhub.content.portable_names import MOST_BYTES, portable_name
from modhub_client import names

PARTS = [
    "hud",
    ".zip",
    "CON",
    "com¹",
    "..",
    "/",
    "\\",
    ":",
    " ",
    ".",
    "é",
    "e\u0301",
    "\u202e",
    "\0",
    "\ud800",
    "ß" * 99,
]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PARTS), max_size=6).map("".join)))
@example("a" * 300 + ".tar.gz")
@example("ü" * 255)
@example("NUL .txt")
@example("../../etc/passwd")
@example("...")
def test_both_make_the_same_name(name):
    # C-PAGE-61
    named = portable_name(name)
    assert named == names.clean_name(name)
    assert 0 < len(named.encode()) <= MOST_BYTES == names.MAX_NAME_BYTES
