"""The ``Cookie`` header: ours is read, and malformed ones do no harm."""

import pytest

from modhub.web.request import MAX_COOKIE_BYTES, parse_cookies
from modhub_testing.mods import OWNER

PAGES = ["/Modhub", "/Modhub/1", "/Modhub/file/1", "/Modhub/mine", "/"]
FOREIGN = [
    'x="\\377"',
    "x=\xff",
    'a="\\0"',
    "x",
    "=",
    "",
    '="',
]


@pytest.mark.parametrize("cookie", FOREIGN)
def test_a_malformed_cookie_breaks_no_page_and_hides_no_cookie(site, cookie):
    for page in PAGES:
        answer = site.get(page, headers={"Cookie": cookie}, expect_errors=True)
        assert answer.status_int < 500, (page, answer.text)
    for header in (f"{cookie}; account={OWNER}", f"account={OWNER}; {cookie}", f"account={OWNER};{cookie}"):
        site.get("/Modhub/mine", headers={"Cookie": header}, status=200)


@pytest.mark.parametrize(
    ("sent", "cookies"),
    [
        ("modhub=abc;y=2 ;\tz=3", {"modhub": "abc", "y": "2", "z": "3"}),
        ('a="quoted"; b="; c="', {"a": "quoted", "b": '"', "c": '"'}),
        ("a=1; a=2", {"a": "2"}),
        ("a=caf\xc3\xa9; b=caf\xe9; c=1", {"a": "café", "c": "1"}),
        (
            "a=" + "x" * (MAX_COOKIE_BYTES - 2) + ";b=" + "x" * (MAX_COOKIE_BYTES - 1),
            {"a": "x" * (MAX_COOKIE_BYTES - 2)},
        ),
    ],
)
def test_cookies_are_read_as_browsers_write_them(sent, cookies):
    assert parse_cookies(sent) == cookies
