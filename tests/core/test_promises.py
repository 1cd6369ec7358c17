"""Rules for every call and response, with all publishing features."""

import re

import pytest
from PIL import Image

from modhub.admin.program import Admin
from modhub.catalogue.commands import add_game
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.reference import calls

pytestmark = pytest.mark.slow

ALL = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"
AGENT = {"X-Api-Key": "agent"}
BASE = "https://mods.example.org"
KEYS = "agent Modhub:app Modhub:wiki"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
MB = 1024 * 1024


@pytest.fixture
def filled(start, tmp_path):
    """Something of everything: a mod with its files, a game, a build, a changelog, a page of the wiki."""
    site = start(ALL, ApiPrivateKeys=KEYS, modhub__base_url=BASE)
    mod = published_mod(site, title="Tool", games=["Portal"])
    upload_asset(site, mod, "css", b"p {}", content_type="text/css")
    upload_asset(site, mod, "images", PNG, content_type="image/png")
    icon = tmp_path / "icon.png"
    Image.new("RGB", (64, 64)).save(icon)
    add_game(Admin(site.config), "Portal", None, icon)
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


def test_no_address_has_a_version_of_the_interface(filled):
    # C-PRO-4
    all_calls = calls(filled)
    assert len(all_calls) > 40
    assert [path for _, path in all_calls if re.search(r"/(?:v|ver|version)?[0-9]+(?:\.[0-9]+)*(?:/|$)", path)] == []


def refusals(site):
    """(status, answer, the fields that its clause names) of a refusal of each kind."""
    own, mod = site.as_account(OWNER), the_mod(site)
    path, draft = mod_address(mod), mod_address(new_mod(site))
    sent = [
        (400, own, "POST", "/api/modhub", b"{", {}, set()),
        (400, own, "PUT", path, b'{"requires": ["x"]}', {}, set()),
        (400, site, "POST", "/api/modhub/app/NO", b"x", AGENT, set()),
        (400, site, "PUT", "/Modhub/api/wiki/guide", b"\xff", AGENT, set()),
        (401, site, "POST", "/api/modhub", b"{}", {}, set()),
        (401, site.as_account(8), "DELETE", path, b"", {}, set()),
        (403, own, "PUT", f"{path}/vote", b'{"value": 1}', {}, set()),
        (404, site, "GET", "/api/modhub/999", b"", {}, set()),
        (404, site, "GET", "/Modhub/api/nothing", b"", {}, set()),
        (405, site, "PATCH", "/Modhub/api/wiki/guide", b"", {}, set()),
        (409, own, "POST", f"{draft}/publish", b"", {}, set()),
        (409, own, "POST", f"{path}/code?version=1", b"x", {}, {"version", "bytes", "sha256"}),
        (413, own, "POST", f"{path}/css", bytes(256 * 1024 + 1), {}, {"limitBytes"}),
        (413, site, "PUT", "/Modhub/api/wiki/guide", bytes(MB + 1), AGENT, {"limitBytes"}),
    ]
    made = []
    for status, caller, method, url, body, headers, extra in sent:
        answer = caller._gen_request(method, url, params=body, headers=headers, expect_errors=True)
        made.append((status, answer, extra))
    return made


def test_every_refusal_is_a_code_and_a_sentence(filled):
    # C-ERR-1, C-ERR-3
    for status, answer, extra in refusals(filled):
        where = (answer.request.method, answer.request.path)
        assert (answer.status_int, answer.content_type) == (status, "application/json"), where
        assert set(answer.json) == {"error", "message"} | extra, where
        assert re.fullmatch(r"[a-z]+(?:_[a-z]+)*", answer.json["error"]), where
        assert re.fullmatch(r"[A-Z](?:[^.\n]|\.(?! ))*\.", answer.json["message"]), answer.json


POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


def test_public_json_is_revalidated_and_open_to_all(filled):
    # T-B8, T-H2
    for address in json_reads(filled):
        headers = filled.get(address, headers={"Cookie": f"account={OWNER}"}).headers
        assert headers["Content-Security-Policy"] == POLICY, address
        assert headers["Cache-Control"] == "no-cache", address
        assert "Set-Cookie" not in headers, address


def test_private_json_and_every_error_is_kept_nowhere(filled):
    # T-B8, T-H3
    answers = [answer for _, answer, _ in refusals(filled)]
    answers.append(filled.as_account(OWNER).get("/api/modhub/mine", status=200))
    answers.append(filled.as_account(OWNER).put_json(mod_address(the_mod(filled)), {}, status=200))
    answers.append(filled.get("/api/modhub/key", headers=AGENT, status=200))
    answers += [filled.get("/api/modhub/key", headers=key, status=401) for key in ({}, {"X-Api-Key": "x"})]
    for answer in answers:
        where = (answer.request.method, answer.request.path)
        assert answer.headers["Content-Security-Policy"] == POLICY, where
        assert answer.headers["Cache-Control"] == "no-store", where
        assert ("WWW-Authenticate" in answer.headers) is (answer.status_int == 401), where


def test_every_answer_carries_what_protects_it(filled):
    # C-HTTP-10, T-H1
    style = filled.get("/Modhub").html.find("link", rel="stylesheet")["href"]
    pages = ["/", "/Modhub", "/Modhub/nothing", "/Modhub/mine", "/Modhub/App", "/Modhub/Wiki", "/Modhub/doc", style]
    others = ["/healthz", "/readyz", "/robots.txt", "/sitemap.xml", "/Modhub/feed", "/Modhub/wiki.atom", "/api/nothing"]
    requests = [("GET", address) for address in [*json_reads(filled), *downloads(filled), *pages, *others]]
    requests += [("HEAD", "/api/modhub"), ("PATCH", "/api/modhub"), ("TRACE", "/Modhub"), ("OPTIONS", "/api/modhub")]
    ids = set()
    for method, address in requests:
        answer = filled._gen_request(method, address, expect_errors=True)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", (method, address)
        assert answer.headers["Referrer-Policy"], (method, address)
        assert answer.headers["Cross-Origin-Resource-Policy"] in {"same-origin", "cross-origin"}, (method, address)
        assert answer.headers["Strict-Transport-Security"].startswith("max-age="), (method, address)
        assert "Server" not in answer.headers, (method, address)
        ids.add(answer.headers["X-Request-Id"])
    assert len(ids) == len(requests)
