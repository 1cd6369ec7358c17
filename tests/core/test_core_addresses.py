"""Addresses are traversed as sent, and headers match the resource."""

from typing import Any

import pytest

from modhub_testing import TEST_ACCOUNTS, Site, Start
from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset
from modhub_testing.service import Installation

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


def test_a_number_has_one_spelling(site: Site) -> None:
    # C-TXT-6
    mod = published_mod(site)
    upload_asset(site, mod, "images", content=b"x", content_type="image/png")
    note = site.get(mod_address(mod, "changelog")).json["notes"][0]["id"]
    number, own = mod["id"], site.as_account(OWNER)
    assert own.get(f"/Modhub/mine/{number}", headers={"Cookie": f"account={OWNER}"}).status_int == 200
    for path in ("", "/changelog", "/download", "/vote"):
        site.get(f"/api/modhub/{number}{path}", status=200)
        site.get(f"/api/modhub/0{number}{path}", status=404)
    for path in (f"/Modhub/0{number}", f"/Modhub/0{number}/feed", f"/Modhub/mine/0{number}"):
        site.get(path, headers={"Cookie": f"account={OWNER}"}, status=404)
    for asset in site.get(f"/api/modhub/{number}").json["assets"]:
        site.get(asset["url"], status=200)
        site.get(asset["url"].replace("/file/", "/file/0"), status=404)
    for path in (f"0{number}", f"0{number}/changelog/{note}", f"{number}/changelog/0{note}"):
        own.put_json(f"/api/modhub/{path}", {}, status=401)
    image = site.get(f"/api/modhub/{number}").json["assets"][-1]["url"].rpartition("/")[2]
    own.delete(f"/api/modhub/{number}/images/0{image}", status=401)
    own.delete(f"/api/modhub/{number}/images/{image}", status=204)


def test_an_encoded_slash_does_not_give_a_page_the_headers_of_a_file(new_database: Any, tmp_path: Any) -> None:
    includes = "modhub_auth modhub_builds"
    service = Installation(tmp_path / "service", new_database(includes), includes)
    service.start()
    try:
        for path in ("/Modhub/file/..%2Faccount/login", "/Modhub/file/..%2Fmine", "/Modhub/app/%2e%2e/account/login"):
            answer = service.caller().ask("GET", path)
            assert answer.status == 404
            assert answer.headers["Set-Cookie"] is None
        page = service.caller().ask("GET", "/Modhub/account/login")
        assert page.headers["Access-Control-Allow-Origin"] is None
        assert page.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    finally:
        service.stop()
