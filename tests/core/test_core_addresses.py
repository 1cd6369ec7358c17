"""Addresses are traversed as sent, and headers match the resource."""

import pytest

from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, published_mod, upload_asset
from tests import raw

pytestmark = pytest.mark.slow

PRIVATE = ["account/login", "mine", "account", "doc", ""]
PREFLIGHT = {"HTTP_ORIGIN": "https://elsewhere.example", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "GET"}
ALL = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"


def kind(headers):
    """Which kind of address the headers belong to."""
    allowed = headers.get("Access-Control-Allow-Origin")
    return allowed, headers["Cross-Origin-Resource-Policy"], "X-Frame-Options" in headers


def test_dots_lead_nowhere(start):
    site = start(ALL)
    mod = published_mod(site)
    site.extra_environ = {**site.extra_environ, "HTTP_COOKIE": f"account={OWNER}"}
    for folder in ("/Modhub/file", "/Modhub/game-icon", "/Modhub/app", "/Modhub/app/linux", "/api", "/Modhub/api"):
        for private in PRIVATE:
            for dots in ("..", "../..", ".", "x/..", "../../Modhub"):
                status, headers, body = raw.call(site, f"{folder}/{dots}/{private}")
                assert status == 404, (folder, dots, private)
                assert b"form" not in body or folder.startswith("/Modhub"), body
                assert "Set-Cookie" not in headers
    for path in ("/./Modhub", "/Modhub/../api/modhub", "/Modhub/mine/../file/1", f"/api/modhub/x/../{mod['id']}"):
        assert raw.call(site, path)[0] == 404, path


def test_empty_segments_change_nothing(start):
    site = start(ALL, ApiPrivateKeys="agent")
    mod = published_mod(site)
    image = upload_asset(site, mod, "images", content=b"x", content_type="image/png")["assets"][-1]["url"]
    site.post("/api/modhub/app/linux", b"build", headers={"X-Api-Key": "agent"})
    site.extra_environ = {**site.extra_environ, "HTTP_COOKIE": f"account={OWNER}"}
    for path in ("/api/modhub", "/Modhub", "/Modhub/mine", image, "/Modhub/app/linux", "/Modhub/feed", "/Modhub/doc"):
        plain = raw.call(site, path)
        assert plain[0] == 200, path
        for odd in (path.replace("/", "//"), "/" + path, path + "/", path + "///"):
            status, headers, _ = raw.call(site, odd)
            assert (status, kind(headers)) == (200, kind(plain[1])), odd
            assert headers["Content-Type"] == plain[1]["Content-Type"]
            assert raw.call(site, odd, "OPTIONS", **PREFLIGHT)[0] == raw.call(site, path, "OPTIONS", **PREFLIGHT)[0]


def test_pages_elsewhere_may_read_feeds_and_files_and_nothing_else_of_the_site(start):
    # C-HTTP-2
    site = start(ALL)
    mod = published_mod(site)
    file = mod["assets"][0]["url"]
    feeds = ["/Modhub/feed", f"/Modhub/{mod['id']}/feed", "/Modhub/App/feed"]
    there = [file, *feeds, *(f"{feed}.json" for feed in feeds), "/Modhub/wiki.atom", "/Modhub/wiki.json"]
    for path in [*there, "/Modhub/999/feed", "/Modhub/app/haiku", "/Modhub/app/haiku/7", "/Modhub/file/01"]:
        status, headers, _ = raw.call(site, path)
        assert status == (200 if path in there else 404)
        assert kind(headers)[:2] == ("*", "cross-origin"), path
        assert "Access-Control-Allow-Credentials" not in headers
        status, headers, _ = raw.call(site, path, "OPTIONS", **PREFLIGHT)
        assert (status, headers["Access-Control-Allow-Origin"]) == (204, "*")
        assert "Access-Control-Allow-Credentials" not in headers
    closed = ["/Modhub", f"/Modhub/{mod['id']}", "/Modhub/mine", "/Modhub/mine/feed", "/Modhub/Wiki/feed", "/"]
    for path in [*closed, "/Modhub/feedxjson", "/Modhub/account/feed", "/Modhub/file", "/Modhub/app", "/sitemap.xml"]:
        assert kind(raw.call(site, path)[1])[:2] == (None, "same-origin"), path
        assert "Access-Control-Allow-Origin" not in raw.call(site, path, "OPTIONS", **PREFLIGHT)[1]
