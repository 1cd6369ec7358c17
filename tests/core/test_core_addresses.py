"""Addresses are traversed as sent, and headers match the resource."""

from typing import Any

import pytest

from modhub_testing import TEST_ACCOUNTS, Site, Start
from modhub_testing.mods import OWNER, published_mod, upload_asset

pytestmark = pytest.mark.slow

PRIVATE = ["account/login", "mine", "account", "doc", ""]
PREFLIGHT = {"HTTP_ORIGIN": "https://elsewhere.example", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "GET"}
ALL = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"


def raw(site: Site, path: str, method: str = "GET", **environ: Any) -> tuple[int, dict[str, str], bytes]:
    """With the path as the server has decoded it."""
    request_environ = {**site.extra_environ, "HTTP_COOKIE": f"account={OWNER}", **environ}
    request = site.RequestClass.blank("/", environ=request_environ, method=method)
    request.environ["PATH_INFO"] = path
    begun: list[Any] = []
    answer = site.app(request.environ, lambda *start: begun.append(start))
    body = b"".join(answer)
    getattr(answer, "close", lambda: None)()
    return int(begun[-1][0][:3]), dict(begun[-1][1]), body


def kind(headers: dict[str, str]) -> tuple[str | None, str, bool]:
    """Which kind of address the headers belong to."""
    allowed = headers.get("Access-Control-Allow-Origin")
    return allowed, headers["Cross-Origin-Resource-Policy"], "X-Frame-Options" in headers


def test_dots_lead_nowhere(start: Start) -> None:
    site = start(ALL)
    mod = published_mod(site)
    for folder in ("/Modhub/file", "/Modhub/game-icon", "/Modhub/app", "/Modhub/app/linux", "/api", "/Modhub/api"):
        for private in PRIVATE:
            for dots in ("..", "../..", ".", "x/..", "../../Modhub"):
                status, headers, body = raw(site, f"{folder}/{dots}/{private}")
                assert status == 404, (folder, dots, private)
                assert b"form" not in body or folder.startswith("/Modhub"), body
                assert "Set-Cookie" not in headers
    for path in ("/./Modhub", "/Modhub/../api/modhub", "/Modhub/mine/../file/1", f"/api/modhub/x/../{mod['id']}"):
        assert raw(site, path)[0] == 404, path


def test_empty_segments_change_nothing(start: Start) -> None:
    site = start(ALL, ApiPrivateKeys="agent")
    mod = published_mod(site)
    image = upload_asset(site, mod, "images", content=b"x", content_type="image/png")["assets"][-1]["url"]
    site.post("/api/modhub/app/linux", b"build", headers={"X-Api-Key": "agent"})
    for path in ("/api/modhub", "/Modhub", "/Modhub/mine", image, "/Modhub/app/linux", "/Modhub/feed", "/Modhub/doc"):
        plain = raw(site, path)
        assert plain[0] == 200, path
        for odd in (path.replace("/", "//"), "/" + path, path + "/", path + "///"):
            status, headers, _ = raw(site, odd)
            assert (status, kind(headers)) == (200, kind(plain[1])), odd
            assert headers["Content-Type"] == plain[1]["Content-Type"]
            assert raw(site, odd, "OPTIONS", **PREFLIGHT)[0] == raw(site, path, "OPTIONS", **PREFLIGHT)[0]


def test_pages_elsewhere_may_read_feeds_and_files_and_nothing_else_of_the_site(start: Start) -> None:
    # C-HTTP-2
    site = start(ALL)
    mod = published_mod(site)
    file = mod["assets"][0]["url"]
    feeds = ["/Modhub/feed", f"/Modhub/{mod['id']}/feed", "/Modhub/App/feed"]
    there = [file, *feeds, *(f"{feed}.json" for feed in feeds), "/Modhub/wiki.atom", "/Modhub/wiki.json"]
    for path in [*there, "/Modhub/999/feed", "/Modhub/app/haiku", "/Modhub/app/haiku/7", "/Modhub/file/01"]:
        status, headers, _ = raw(site, path)
        assert status == (200 if path in there else 404)
        assert kind(headers)[:2] == ("*", "cross-origin"), path
        assert "Access-Control-Allow-Credentials" not in headers
        status, headers, _ = raw(site, path, "OPTIONS", **PREFLIGHT)
        assert (status, headers["Access-Control-Allow-Origin"]) == (204, "*")
        assert "Access-Control-Allow-Credentials" not in headers
    closed = ["/Modhub", f"/Modhub/{mod['id']}", "/Modhub/mine", "/Modhub/mine/feed", "/Modhub/Wiki/feed", "/"]
    for path in [*closed, "/Modhub/feedxjson", "/Modhub/account/feed", "/Modhub/file", "/Modhub/app", "/sitemap.xml"]:
        assert kind(raw(site, path)[1])[:2] == (None, "same-origin"), path
        assert "Access-Control-Allow-Origin" not in raw(site, path, "OPTIONS", **PREFLIGHT)[1]
