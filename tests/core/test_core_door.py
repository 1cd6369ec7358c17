"""What comes in with a request that no view could bear: cookies of others, forms that are none (decisions 1.4)."""

import pytest

from modhub.door import readable_cookies
from modhub.testing import Site

PAGES = ["/Modhub", "/Modhub/1", "/Modhub/file/1", "/Modhub/mine", "/"]
FOREIGN = ['x="\\377"', 'x="\\303"; y=1', "x=\xff", "\xff=x", 'a="\\0"', 'x="\\377;y=1"', "x", "=", ";;;"]


@pytest.mark.parametrize("cookie", FOREIGN)
def test_a_cookie_that_cannot_be_read_breaks_no_page(site: Site, cookie: str) -> None:
    for page in PAGES:
        answer = site.get(page, headers={"Cookie": cookie}, expect_errors=True)
        assert answer.status_int < 500, (page, answer.text)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('modhub=abc; x="\\377"; y=2', "modhub=abc; y=2"),
        ('x="\\377";modhub=abc', "modhub=abc"),
        ('x="\\377;y=1"; modhub=abc', ""),  # no browser sends a semicolon within a cookie
        ('modhub=abc; x="\\303\\251"', 'modhub=abc; x="\\303\\251"'),
        ("modhub=abc; caf\xc3\xa9=caf\xc3\xa9", "modhub=abc; caf\xc3\xa9=caf\xc3\xa9"),
    ],
)
def test_the_other_cookies_stay(sent: str, kept: str) -> None:
    assert readable_cookies(sent) == kept


def part(headers: str, body: str = "x") -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {headers}\r\n\r\n{body}\r\n--b--\r\n".encode()


@pytest.mark.parametrize(
    "body",
    [
        part('name="csrf_token"\r\nContent-Type: text/plain; charset=nope'),
        part('name="csrf_token"; filename="q"'),
        part('name="title"; filename="q"'),
        b"--b\r\n\r\n",
        b"nothing",
    ],
)
def test_a_form_that_cannot_be_read_is_400(site: Site, body: bytes) -> None:
    kind = "multipart/form-data; boundary=b"
    for address in ("/Modhub/mine/new", "/Modhub/1/vote"):
        answer = site.post(address, body, content_type=kind, expect_errors=True)
        assert answer.status_int in {400, 404, 303}, answer.text
        assert answer.status_int != 500
