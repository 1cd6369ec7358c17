"""Errors for methods, addresses and hostile input: JSON for programs, pages for people."""

from itertools import product

import pytest

from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset
from modhub_testing.running_server import RawClient, running
from tests import raw

pytestmark = pytest.mark.slow


def ask(site, method, url, **options):
    return site._gen_request(method, url, expect_errors=True, **options)


@pytest.fixture
def names(site):
    mod = published_mod(site)
    asset = upload_asset(site, mod, "images", content_type="image/png")["assets"][-1]["url"].rpartition("/")[2]
    note = site.get(mod_address(mod, "changelog")).json["notes"][0]["id"]
    return {"id": mod["id"], "asset": asset, "note": note}


METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
LAST = ["games", "key", "{id}/download", "{id}/changelog/{note}", "{id}/images/{asset}", "{id}/vote"]


def test_below_an_address_that_ends_there_is_nothing(site, names):
    for last in LAST:
        for caller, method in product((site, site.as_account(OWNER)), METHODS):
            url = f"/api/modhub/{last}/nothing".format(**names)
            assert ask(caller, method, url).status_int == 404, (method, url)


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


HOSTILE_IDS = ["0", "-1", "9" * 400, str(2**31), str(2**63), "١", "1_0", "01", "1\0", "1\n", "..", "@@games"]


HOSTILE_VALUES = ["\0", "\ud800", "x\0y", "\u202e", "\uffff", "e\u0301" * 3000, "'; DROP TABLE core_mod; --", "%s%n"]


@pytest.mark.postgres
def test_hostile_ids_are_unknown_ids(site, names):
    # C-ERR-8, C-TXT-6, T-D5
    mod = names["id"]
    for bad in HOSTILE_IDS:
        encoded = bad.encode().decode("latin-1")
        pages = (f"file/{encoded}", f"game-icon/{encoded}", f"{encoded}/feed", f"mine/{encoded}")
        pictures = (f"picture/{encoded}/320-0.jpg", f"picture/1/{encoded}")
        reads = [f"/Modhub/{page}" for page in (*pages, *pictures)]
        for path in (*reads, f"/api/modhub/{encoded}", f"/api/modhub/{encoded}/changelog"):
            assert raw.call(site, path, HTTP_COOKIE=f"account={OWNER}")[0] == 404, path
        for method, rest in (
            ("PUT", encoded),
            ("PUT", f"{mod}/changelog/{encoded}"),
            ("DELETE", f"{mod}/images/{encoded}"),
        ):
            assert raw.call(site.as_account(OWNER), f"/api/modhub/{rest}", method)[0] == 401, (method, rest)


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
    assert seen <= {200, 201, 400, 409}
    assert "Traceback" not in caplog.text


def test_the_host_header_decides_nothing(site, names):
    # C-HTTP-6
    plain = site.get(f"/api/modhub/{names['id']}").body
    for header in ("HTTP_HOST", "HTTP_X_VHM_ROOT", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED"):
        for value in ("/api/modhub", "localhost:99999", ""):
            status, _, body = raw.call(site, f"/api/modhub/{names['id']}", **{header: value})
            assert (status, body) == (200, plain), (header, value)


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
