"""Rules for every call and response, with all publishing features."""

import re

import pytest
from PIL import Image

from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod, upload_asset
from tests.owning import curate_game

pytestmark = pytest.mark.slow

ALL = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"
AGENT = {"X-Api-Key": "agent"}
BASE = "https://mods.example.org"
KEYS = "agent Modhub:app Modhub:wiki"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def filled(start, tmp_path):
    """Something of everything: a mod with its files, a game, a build, a changelog, a page of the wiki."""
    site = start(ALL, ApiPrivateKeys=KEYS, modhub__base_url=BASE)
    mod = published_mod(site, title="Tool", games=["Portal"])
    upload_asset(site, mod, "css", b"p {}", content_type="text/css")
    upload_asset(site, mod, "images", PNG, content_type="image/png")
    icon = tmp_path / "icon.png"
    Image.new("RGB", (64, 64)).save(icon)
    curate_game(site, "Portal", icon=icon)
    site.post("/api/modhub/app/linux?version=1", b"a build", headers=AGENT, status=201)
    site.post("/api/modhub/app/changelog", b"1\n- All new", headers=AGENT, status=201)
    site.put("/Modhub/api/wiki/guide", b"# Guide", headers=AGENT, status=201)
    return site


def the_mod(site):
    (mod,) = site.get("/api/modhub").json["mods"]
    return mod


def json_reads(site):
    """The addresses of JSON that anybody reads, but for votes, which say whose they are."""
    mod = mod_address(the_mod(site))
    machines = ["/api/modhub/app", "/Modhub/api/wiki", "/api/modhub/wiki", "/api/modhub/changes"]
    machines.append(f"/api/modhub/guid/{the_mod(site)['guid']}")
    return ["/api/modhub", "/api/modhub?q=tool", mod, f"{mod}/changelog", "/api/modhub/games", *machines]


def downloads(site):
    mod, build = the_mod(site), site.get("/api/modhub/app").json["builds"][0]
    icon = site.get("/api/modhub/games").json["games"][0]["iconUrl"]
    files = [asset["url"] for asset in mod["assets"]]
    return [mod_address(mod, "download"), *files, icon, build["url"], build["versions"][0]["url"]]


def sent(site, method, address, body=b"", **headers):
    return site._gen_request(method, address, params=body, headers=headers, expect_errors=True)


POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


def test_every_refusal_is_a_code_and_a_sentence_that_nobody_keeps(filled):
    # C-ERR-1, C-ERR-3, T-B8, T-H3
    own, mod = filled.as_account(OWNER), the_mod(filled)
    path, draft = mod_address(mod), mod_address(new_mod(filled))
    for status, caller, method, address, body, extra in (
        (400, own, "PUT", path, b'{"requires": ["x"]}', set()),
        (401, filled.as_account(8), "DELETE", path, b"", set()),
        (403, own, "PUT", f"{path}/vote", b'{"value": 1}', set()),
        (404, filled, "GET", "/Modhub/api/nothing", b"", set()),
        (405, filled, "PATCH", "/Modhub/api/wiki/guide", b"", set()),
        (409, own, "POST", f"{draft}/publish", b"", set()),
        (409, own, "POST", f"{path}/code?version=1", b"x", {"version", "bytes", "sha256"}),
        (413, own, "POST", f"{path}/css", bytes(256 * 1024 + 1), {"limitBytes"}),
    ):
        answer, where = sent(caller, method, address, body), (method, address)
        assert (answer.status_int, answer.content_type) == (status, "application/json"), where
        assert set(answer.json) == {"error", "message"} | extra, where
        assert re.fullmatch(r"[a-z]+(?:_[a-z]+)*", answer.json["error"]), where
        assert re.fullmatch(r"[A-Z](?:[^.\n]|\.(?! ))*\.", answer.json["message"]), answer.json
        assert answer.headers["Content-Security-Policy"] == POLICY, where
        assert answer.headers["Cache-Control"] == "no-store", where
        assert ("WWW-Authenticate" in answer.headers) is (status == 401), where


def test_private_json_is_kept_nowhere(filled):
    # T-B8, T-H3
    own, key = filled.as_account(OWNER), "/api/modhub/key"
    answers = [own.get("/api/modhub/mine", status=200), filled.get(key, headers=AGENT, status=200)]
    answers += [filled.get(key, status=401), own.put_json(mod_address(the_mod(filled)), {}, status=200)]
    for answer in answers:
        assert answer.headers["Content-Security-Policy"] == POLICY, answer.request.path
        assert answer.headers["Cache-Control"] == "no-store", answer.request.path


def test_every_answer_carries_what_protects_it(filled):
    # C-HTTP-10, T-B8, T-H1, T-H2
    style = filled.get("/Modhub").html.find("link", rel="stylesheet")["href"]
    pages = ["/", "/Modhub", "/Modhub/nothing", "/Modhub/mine", "/Modhub/App", "/Modhub/Wiki", "/Modhub/doc", style]
    others = ["/healthz", "/readyz", "/robots.txt", "/sitemap.xml", "/Modhub/feed", "/Modhub/wiki.atom", "/api/nothing"]
    reads = json_reads(filled)
    requests = [("GET", address) for address in [*reads, *downloads(filled), *pages, *others]]
    requests += [("HEAD", "/api/modhub"), ("PATCH", "/api/modhub"), ("TRACE", "/Modhub"), ("OPTIONS", "/api/modhub")]
    ids = set()
    for where in requests:
        headers = sent(filled, *where, Cookie=f"account={OWNER}").headers
        assert headers["X-Content-Type-Options"] == "nosniff", where
        assert headers["Referrer-Policy"], where
        assert headers["Cross-Origin-Resource-Policy"] in {"same-origin", "cross-origin"}, where
        assert headers["Strict-Transport-Security"].startswith("max-age="), where
        assert "Server" not in headers, where
        if where[1] in reads:
            assert headers["Content-Security-Policy"] == POLICY, where
            assert where[0] != "GET" or headers["Cache-Control"] == "no-cache", where
            assert "Set-Cookie" not in headers, where
        ids.add(headers["X-Request-Id"])
    assert len(ids) == len(requests)
