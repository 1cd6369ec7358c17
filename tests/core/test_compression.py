"""Compressed responses, and the validators of pages: what is compressed, what never is, and the ETags of both forms."""

import gzip
from itertools import product

import pytest
from webob import Request, Response

from modhub.web.compression import accepts_gzip, is_for_everybody
from modhub.web.headers import HAS_TOKEN
from modhub_testing.mods import OWNER, published_mod, upload_asset
from modhub_testing.pages import new_visitor

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("GZIP;q=0.1", True),
        ("br, x-gzip", True),
        ("*", True),
        ("gzip;q=0, *", False),
        ("gzip; q=0.000", False),
        ("", False),
        (";;=,q=0", False),
    ],
)
def test_accept_encoding(header, accepted):
    assert accepts_gzip(header) is accepted


def plain(answer):
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    return gzip.decompress(answer.body)


def read(site, address, status=200, **headers):
    """The response as it is sent: WebTest would decompress it."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = Request.blank(address, headers=sent).get_response(site.app)
    assert answer.status_int == status
    return answer


PUBLIC = [("/api/modhub", 2), ("/Modhub/feed", 2), ("/sitemap.xml?of=mods", 2)]
PUBLIC += [("/Modhub", 1), ("/Modhub?q=mod", 1), ("/Modhub/1", 1), ("/Modhub/doc", 1)]
"""With the number of their tags: that of a page is for both forms, as its bytes are never the same."""


@pytest.mark.parametrize(("address", "count"), PUBLIC)
def test_what_everybody_reads_is_compressed_and_revalidated_in_either_form(site, address, count):
    # C-HTTP-12, C-HTTP-9
    published_mod(site, description="<p>A calm HUD.</p>" * 20)
    whole, small = read(site, address), read(site, address, **GZIP)
    assert len(plain(small)) == len(whole.body)
    assert "Accept-Encoding" in whole.headers["Vary"]
    tags = {whole.headers["ETag"], small.headers["ETag"]}
    assert len(tags) == count
    for tag, headers in product(tags, ({}, GZIP)):
        kept = read(site, address, 304, If_None_Match=tag, **headers)
        assert (kept.headers["ETag"], kept.body) == (tag, b"")
        assert set(kept.headers["Vary"].split(", ")) == set(whole.headers["Vary"].split(", "))
    read(site, address, 200, If_None_Match='"x-gzip"', **GZIP)


def test_a_page_in_another_language_or_of_another_state_has_another_tag(site):
    # C-HTTP-9
    assert "ETag" not in read(site, "/Modhub/999999", 404).headers
    before = {"If_None_Match": read(site, "/Modhub").headers["ETag"]}
    assert "Content-Security-Policy" not in read(site, "/Modhub", 304, **before).headers
    read(site, "/Modhub", 200, Accept_Language="de", **before)
    published_mod(site)
    read(site, "/Modhub", 200, **before)


def test_what_is_for_one_caller_is_never_compressed(site):
    # C-HTTP-12, T-D18
    mod = published_mod(site, description="<p>A calm HUD.</p>" * 20)
    author = new_visitor(site, OWNER)
    for address in ("/Modhub", "/Modhub?q=mod", mod["url"], "/Modhub/mine", f"/Modhub/mine/{mod['id']}"):
        answer = author.get(address, headers=GZIP)
        assert "Content-Encoding" not in answer.headers
        assert "ETag" not in answer.headers
        assert len(answer.body) > 600
    mine = site.as_account(OWNER).get("/api/modhub/mine", headers=GZIP)
    assert "Content-Encoding" not in mine.headers


def test_a_response_with_a_secret_is_not_for_everybody():
    # T-D18
    request, form = Request.blank("/"), Request.blank("/", environ={HAS_TOKEN: True})
    assert is_for_everybody(request, Response())
    assert not is_for_everybody(form, Response())
    for header in (("Set-Cookie", "form=secret"), ("Cache-Control", "private, no-store")):
        assert not is_for_everybody(request, Response(headerlist=[header]))


def test_static_files_are_compressed_and_uploads_are_not(site):
    # C-HTTP-12, C-FILE-1
    sheet = upload_asset(site, published_mod(site), "css", b"/* calm */" * 500, content_type="text/css")["assets"][1]
    for method in ("GET", "HEAD"):
        upload = site.request(sheet["url"], method=method, headers=GZIP)
        assert upload.headers["Content-Length"] == "5000"
        assert "Accept-Encoding" not in upload.headers["Vary"]
    page = site.get("/Modhub").html
    address = page.find("link", rel="stylesheet")["href"]
    whole, small = site.get(address), read(site, address, **GZIP)
    assert plain(small) == whole.body
    assert len(small.body) < len(whole.body) / 3
    assert "Accept-Encoding" in whole.headers["Vary"]
    assert small.headers["Cache-Control"] == whole.headers["Cache-Control"]
    icon = site.get("/favicon.ico", headers=GZIP)
    assert "Content-Encoding" not in icon.headers
