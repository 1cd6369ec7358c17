"""Errors for methods, addresses and hostile input: JSON for programs, pages for people."""

import pytest

from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset
from modhub_testing.running_server import RawClient, running
from tests import raw

pytestmark = pytest.mark.slow

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
ALLOWED = {
    "/api/modhub": "GET, HEAD, POST",
    "/api/modhub/games": "GET, HEAD",
    "/api/modhub/mine": "GET, HEAD",
    "/api/modhub/key": "GET, HEAD",
    "/api/modhub/{id}": "DELETE, GET, HEAD, PUT",
    "/api/modhub/{id}/changelog": "GET, HEAD",
    "/api/modhub/{id}/changelog/{note}": "DELETE, PUT",
    "/api/modhub/{id}/download": "GET, HEAD",
    "/api/modhub/{id}/publish": "POST",
    "/api/modhub/{id}/code": "POST",
    "/api/modhub/{id}/css": "POST",
    "/api/modhub/{id}/images": "POST",
    "/api/modhub/{id}/images/{asset}": "DELETE",
    "/api/modhub/{id}/vote": "GET, HEAD, PUT",
    "/Modhub/file/{asset}": "GET, HEAD",
    "/Modhub/game-icon/1": "GET, HEAD",
    "/healthz": "GET, HEAD",
    "/readyz": "GET, HEAD",
}


def ask(site, method, url, **options):
    return site._gen_request(method, url, expect_errors=True, **options)


@pytest.fixture
def names(site):
    mod = published_mod(site)
    asset = upload_asset(site, mod, "images", content_type="image/png")["assets"][-1]["url"].rpartition("/")[2]
    note = site.get(mod_address(mod, "changelog")).json["notes"][0]["id"]
    return {"id": mod["id"], "asset": asset, "note": note}


def test_a_method_that_an_address_has_not_is_405_with_allow(site, names):
    # C-ERR-3, C-ERR-5, T-D10
    for pattern, allow in ALLOWED.items():
        url = pattern.format(**names)
        for method in METHODS:
            if method in allow.split(", "):
                continue
            answer = ask(site, method, url)
            assert answer.status_int == 405, (method, url)
            assert answer.headers["Allow"] == allow, url
            if url.startswith("/api/") and method != "HEAD":
                assert answer.json["error"] == "method_not_allowed"


def test_below_an_address_that_ends_there_is_nothing(site, names):
    for pattern in ALLOWED:
        if pattern in {"/api/modhub", "/api/modhub/{id}/changelog", "/api/modhub/{id}/images"}:
            continue
        url = pattern.format(**names) + "/nothing"
        for method in METHODS:
            assert ask(site, method, url).status_int == 404, (method, url)
            assert ask(site.as_account(OWNER), method, url).status_int == 404, (method, url)


def test_unknown_methods_never_reach_a_view(site, names):
    # T-D10
    for method in ("TRACE", "CONNECT", "PROPFIND", "get", "X"):
        status, headers, body = raw.call(site, "/api/modhub", method)
        assert status == 405, method
        assert "GET" in headers["Allow"]
        assert b"mods" not in body
        status, headers, body = raw.call(site, "/Modhub", method)
        assert (status, headers["Content-Type"][:9]) == (405, "text/html")


BAD_UTF8 = ["\xff", "\xed\xa0\x80", "\xc0\xaf"]


def test_a_path_that_is_not_utf8_is_400_and_a_query_is_mended(site, names):
    # C-ERR-8, T-D5
    for bad in BAD_UTF8:
        for path in (f"/api/modhub/{bad}", f"/api/{bad}", f"/{bad}", f"/Modhub/{bad}", f"/Modhub/file/{bad}"):
            status, headers, body = raw.call(site, path)
            assert status == 400, path
            if path.startswith("/api/"):
                assert b'"error":"invalid_input"' in body
                assert headers["Content-Type"] == "application/json"
        for query in (f"q={bad}", f"{bad}=1", "q=" + "".join(f"%{ord(char):02x}" for char in bad)):
            for place in ("/api/modhub", "/Modhub", "/healthz"):
                assert raw.call(site, place, query=query)[0] == 200, query
    # What is text stays as it is, also beside what is none: an encoded "&" parts nothing.
    answer = raw.call(site, "/api/modhub", query="q=%FF&size=7%26&page=3&game=caf%C3%A9")
    assert b'"page":3,"size":20' in answer[2]


HOSTILE_IDS = ["0", "-1", "9" * 400, str(2**31), str(2**63), "٣", "1_0", "01", "1%00", "1%0a", "..", "@@games"]


@pytest.mark.postgres
def test_hostile_ids_are_unknown_ids(site, names):
    # C-ERR-8, C-TXT-6, T-D5
    own = site.as_account(OWNER)
    for bad in HOSTILE_IDS:
        path = bad.replace("%00", "\0").replace("%0a", "\n").replace("%20", " ").replace("%2e", ".")
        encoded = path.encode().decode("latin-1")
        for rest in ("", "/changelog", "/download", "/vote"):
            assert raw.call(site, f"/api/modhub/{encoded}{rest}")[0] == 404, (bad, rest)
        pictures = (f"picture/{encoded}/320-0.jpg", f"picture/1/{encoded}")
        for page in (f"file/{encoded}", f"game-icon/{encoded}", f"{encoded}/feed", f"mine/{encoded}", *pictures):
            assert raw.call(own, f"/Modhub/{page}", HTTP_COOKIE=f"account={OWNER}")[0] == 404, (bad, page)
        for method, rest in (
            ("PUT", ""),
            ("DELETE", ""),
            ("POST", "/code"),
            ("POST", "/publish"),
            ("DELETE", "/images/1"),
        ):
            assert raw.call(own, f"/api/modhub/{encoded}{rest}", method)[0] == 401, (bad, method, rest)
        assert raw.call(own, f"/api/modhub/{names['id']}/changelog/{encoded}", "PUT")[0] == 401
        assert raw.call(own, f"/api/modhub/{names['id']}/images/{encoded}", "DELETE")[0] == 401


HOSTILE_VALUES = ["\0", "\ud800", "x\0y", "\u202e", "\uffff", "e\u0301" * 3000, "'; DROP TABLE core_mod; --", "%s%n"]
HOSTILE_BODIES = [
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf{}",
    b'{"title": NaN}',
    b'{"title": 1e400}',
    b"9" * 100_000,
    b"[" * 500,
]
HOSTILE_BODIES += [b'{"a":' * 1000 + b"1" + b"}" * 1000, b'{"title": "\\ud800"}', b'{"games": ["\\u0000"]}', b"{}{}"]


@pytest.mark.postgres
def test_no_input_gives_a_500(site, names, caplog):
    # C-ERR-8
    own = site.as_account(OWNER)
    mod = f"/api/modhub/{names['id']}"
    seen = set()
    for value in HOSTILE_VALUES:
        for field in ("title", "description"):
            seen.add(own.put_json(mod, {field: value}, expect_errors=True).status_int)
        for field in ("games", "requires", "conflictsWith"):
            seen.add(own.put_json(mod, {field: [value, value + "x"]}, expect_errors=True).status_int)
        note = {"title": value, "text": value}
        seen.add(own.put_json(f"{mod}/changelog/{names['note']}", note, expect_errors=True).status_int)
        part = "".join(f"%{byte:02x}" for byte in value.encode("utf-8", "surrogatepass"))[:3000]
        for name in ("q", "game", "sort", "page", "size"):
            seen.add(ask(site, "GET", f"/api/modhub?{name}={part}").status_int)
        for rest in (f"code?version={part}", f"css?name={part}", f"images?name={part}"):
            seen.add(ask(own, "POST", f"{mod}/{rest}", params=b"x", content_type="x/y").status_int)
    for body in HOSTILE_BODIES:
        for method, url in (("POST", "/api/modhub"), ("PUT", mod), ("PUT", f"{mod}/changelog/{names['note']}")):
            seen.add(ask(own, method, url, params=body, content_type="application/json").status_int)
        seen.add(ask(site.as_account(8), "PUT", f"{mod}/vote", params=body).status_int)
    assert seen <= {200, 201, 400, 409}
    assert "Traceback" not in caplog.text


def test_the_host_header_decides_nothing(site, names):
    # C-HTTP-6
    plain = site.get(f"/api/modhub/{names['id']}").body
    for host in ("evil.example", "localhost:99999", "[::1]", "a" * 300, "x y", ""):
        status, _, body = raw.call(site, f"/api/modhub/{names['id']}", HTTP_HOST=host)
        assert (status, body) == (200, plain), host
    for header in ("HTTP_X_VHM_ROOT", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED"):
        status, _, body = raw.call(site, f"/api/modhub/{names['id']}", **{header: "/api/modhub"})
        assert (status, body) == (200, plain), header


@pytest.mark.parametrize(("base_url", "policies"), [("https://mods.example.org", 1), ("http://mods.example.org", 0)])
def test_the_servers_own_refusals_ask_for_https_where_it_is_spoken(start, base_url, policies):
    # T-H1
    app = start(modhub__base_url=base_url).app
    with running(app) as service, RawClient(service) as client:
        answer = client.ask(b"GET / HTTP/1.1\r\n\r\n")
    assert answer.status == 400
    assert answer.fields["x-content-type-options"] == "nosniff"
    assert list(answer.fields).count("strict-transport-security") == policies


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "text/html"),
        ("*/*", "text/html"),
        ("\xff", "text/html"),
        ("application/json", "application/json"),
        ("text/html;q=0.5, application/json;q=0.9", "application/json"),
    ],
)
def test_programs_get_the_errors_of_files_as_json(site, accept, expected):
    # C-ERR-3
    headers = {} if accept is None else {"Accept": accept}
    for path in ("/Modhub/file/99", "/Modhub/picture/99/320", "/Modhub/game-icon/99"):
        answer = site.get(path, headers=headers, status=404)
        assert (answer.content_type, answer.headers["Access-Control-Allow-Origin"]) == (expected, "*")
        assert answer.headers["Vary"].split(", ")[0] == "Accept"
        if expected == "application/json":
            assert answer.json["error"] == "not_found"
    # Pages stay pages.
    page = site.get("/Modhub/99", headers=headers, status=404)
    assert (page.content_type, page.headers["Vary"]) == ("text/html", "Cookie, Accept-Language")
