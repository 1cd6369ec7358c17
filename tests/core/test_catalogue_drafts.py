"""Drafts are visible to nobody but their owner; to others they look as if they had never existed.

So are hidden mods, published before or not: every test covers all three.
"""

import re
import uuid
from urllib.parse import quote

import pytest

from modhub_testing.mods import (
    OWNER,
    hide_mod,
    mod_address,
    new_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)

pytestmark = pytest.mark.slow

HIDDEN = {"date", "x-request-id"}
MARK = "Zqxjkvbp"
"""In every text of the draft; in nothing else."""
NEVER = 10**9


DRAFT, HIDDEN_DRAFT, HIDDEN_MOD = "draft", "hidden draft", "hidden mod"


@pytest.fixture(params=[DRAFT, HIDDEN_DRAFT, HIDDEN_MOD])
def kind(request):
    """Why nobody but its owner sees the mod."""
    return request.param


@pytest.fixture
def draft(site, kind):
    """A mod with all fields and files that only its owner sees, beside published mods that name it."""
    mod = new_mod(
        site,
        title=f"{MARK} title",
        description=f"<p>{MARK} description</p>",
        games=[f"{MARK} game", "Portal"],
        requires=[str(uuid.uuid4())],
        conflictsWith=[str(uuid.uuid4())],
    )
    upload_asset(site, mod, "code", f"{MARK} code".encode(), version=f"{MARK}-1", name=f"{MARK}.zip")
    upload_asset(site, mod, "css", f"{MARK} css".encode(), name=f"{MARK}.css")
    mod = upload_asset(site, mod, "images", f"{MARK} image".encode(), name=f"{MARK}.png", content_type="image/png")
    published_mod(site, 8, "Uses it", requires=[mod["guid"]])
    published_mod(site, 8, "Fights it", conflictsWith=[mod["guid"]])
    if kind == HIDDEN_MOD:
        mod = publish_test_mod(site, mod)
        warm(site, mod)
        site.as_account(8).put_json(mod_address(mod, "vote"), {"value": 1}, status=200)
        assert site.get(f"/api/modhub?q={MARK}").json["total"] == 1
    if kind != DRAFT:
        hide_mod(site, mod, f"{MARK} reason")
    warm(site, mod)
    return mod


def warm(site, mod):
    """Fill the caches with all addresses read below, also while the mod was visible."""
    assets = [asset["url"].rpartition("/")[2] for asset in mod["assets"]]
    queries = ("", f"?q={MARK}", "?game=Portal", f"?game={MARK}%20game", "?size=100", "/games")
    for url in (*addresses(mod["id"], assets), *(f"/api/modhub{query}" for query in queries)):
        ask(site, url)


def secrets_of(mod):
    """What would reveal the draft: its texts, and the GUIDs that only it names."""
    return [word.encode() for word in (MARK, MARK.lower(), *mod["requires"], *mod["conflictsWith"])]


def addresses(mod_id, asset_ids):
    own = [
        f"/api/modhub/{mod_id}{rest}"
        for rest in ("", "/", "/changelog", "/download", "/vote", "/captions", "/superseded", "/changelog/1", "/x")
    ]
    pages = ("", "/", "/feed", "/feed.json", "/vote", "/changelog", "/images/1", "/install", "/everything.zip")
    pages = [f"/Modhub/{mod_id}{rest}" for rest in pages]
    pages += [f"/Modhub/mine/{mod_id}{rest}" for rest in ("", "/preview", "/publish", "/rehearsal")]
    files = [f"/Modhub/file/{asset_id}" for asset_id in asset_ids]
    return own + pages + files + [f"/Modhub/picture/{asset_id}/320" for asset_id in asset_ids]


def ask(site, url, method="GET", **headers):
    return site._gen_request(method, url, headers=headers, expect_errors=True)


def shown(answer):
    """Everything that a caller could compare, without the address that the caller sent."""
    headers = sorted((name, value) for name, value in answer.headerlist if name.lower() not in HIDDEN)
    text = re.sub(r"nonce-[\w-]+", "nonce-X", f"{answer.status} {answer.body!r} {headers}")
    url = answer.request.path.rstrip("/")
    return text.replace(quote(url, safe=""), "ADDRESS").replace(url, "ADDRESS")


VARIANTS = [
    ("GET", {}),
    ("HEAD", {}),
    ("GET", {"If-None-Match": "*"}),
    ("GET", {"If-Match": "*"}),
    ("GET", {"Range": "bytes=0-3"}),
    ("GET", {"If-Modified-Since": "Sat, 01 Jan 2033 00:00:00 GMT"}),
    ("GET", {"Authorization": f"Bearer account-{OWNER}"}),
    ("GET", {"Authorization": "Bearer nonsense"}),
    ("GET", {"Cookie": f"account={OWNER}"}),
    ("GET", {"Cookie": "account=8"}),
    ("GET", {"Accept": "application/json"}),
    ("GET", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "script"}),
    ("GET", {"X-Vhm-Root": "/api/modhub"}),
    ("OPTIONS", {}),
    ("POST", {}),
    ("PATCH", {}),
]


def test_a_draft_answers_as_an_id_that_never_was(site, draft):
    # C-FILE-7, C-OWN-8, C-OWN-18, C-READ-1, C-PAGE-60, C-PAGE-23, C-PIC-9, C-PIC-1, C-PRO-2, C-READ-9
    # T-B1
    answers_as_what_never_was(site, draft)


def answers_as_what_never_was(site, mod):
    """To everybody by every address, but to its owner by those of the workshop."""
    assets = [asset["url"].rpartition("/")[2] for asset in mod["assets"]]
    assert len(assets) == 3
    there = addresses(mod["id"], list(assets))
    never = addresses(NEVER, [NEVER + at for at in range(3)])
    for real, absent in zip(there, never, strict=True):
        for method, headers in VARIANTS:
            if "/mine/" in real and headers == {"Cookie": f"account={OWNER}"}:
                continue
            answer = ask(site, real, method, **headers)
            assert shown(answer) == shown(ask(site, absent, method, **headers)), (method, real, headers)
            assert answer.status_int in {303, 401, 404, 405}, (method, real)
            if answer.status_int == 404:
                assert answer.headers["Cache-Control"] == "no-store"


def test_no_vote_tells_a_draft_from_what_never_was(site, draft):
    # C-VOTE-2, T-B1
    for caller in (site, site.as_account(8), site.as_account(OWNER)):
        for body in (b'{"value": 1}', b'{"value": 5}', b"\xff", b""):
            answers = [
                caller.put(f"/api/modhub/{mod_id}/vote", body, content_type="application/json", expect_errors=True)
                for mod_id in (draft["id"], NEVER)
            ]
            assert shown(answers[0]) == shown(answers[1])
            assert answers[0].status_int == (401 if caller is site else 404)


def test_no_list_shows_a_draft(site, draft):
    # C-LIST-1, C-PRO-2, T-B1
    queries = ["", "?sort=top", "?sort=new&size=100", "?page=2&size=1", "?game=Portal", f"?game={MARK}%20game"]
    queries += [
        f"?q={words}"
        for words in (MARK, MARK.lower(), MARK[:3], MARK[:2], "title", "Portal", draft["guid"], "%25", "_")
    ]
    queries += [f"?q={MARK}&game=portal&sort=top"]
    for caller in (site, site.as_account(OWNER)):
        for query in queries:
            answer = caller.get(f"/api/modhub{query}")
            assert not any(secret in answer.body for secret in secrets_of(draft)), query
            assert draft["id"] not in [mod["id"] for mod in answer.json["mods"]]
        listed = caller.get("/api/modhub")
        assert (listed.json["total"], listed.json["count"]) == (2, 2)
        assert caller.get(f"/api/modhub?q={MARK}").json["total"] == 0
        assert caller.get("/api/modhub?game=portal").json["total"] == 0
        assert not any(secret in caller.get("/api/modhub/games").body for secret in secrets_of(draft))


def test_lists_and_reads_do_not_change_while_a_draft_does(site, draft):
    # T-B1
    urls = ["/api/modhub", "/api/modhub?sort=top", "/api/modhub/games"]
    urls += [f"/api/modhub/{mod['id']}" for mod in site.get("/api/modhub").json["mods"]]
    before = [shown(site.get(url)) for url in urls]
    own = site.as_account(OWNER)
    own.put_json(mod_address(draft), {"title": "Other", "games": ["Half-Life"]})
    upload_asset(site, draft, "code", b"new", version="2")
    upload_asset(site, draft, "images", b"another", content_type="image/png")
    own.delete(mod_address(draft))
    new_mod(site, title="One more draft", games=["Portal"])
    assert [shown(site.get(url)) for url in urls] == before


def test_the_owner_sees_it_in_the_mine_list_and_nobody_else_does(site, draft):
    # C-OWN-10, C-PRO-2
    mine = site.as_account(OWNER).get("/api/modhub/mine").json
    assert mine["count"] == 1
    assert mine["mods"] == [draft]
    theirs = site.as_account(8).get("/api/modhub/mine")
    assert MARK.encode() not in theirs.body
    assert theirs.json["count"] == 2


def test_no_page_no_feed_and_no_sitemap_shows_it(site, draft):
    # C-PRO-2, T-B1
    others = [mod["id"] for mod in site.get("/api/modhub").json["mods"]]
    paths = ["/Modhub", "/Modhub?sort=top", f"/Modhub?q={MARK[:3]}", "/Modhub?game=Portal", "/Modhub/feed"]
    paths += ["/Modhub/feed?sort=top", "/Modhub/feed.json", "/sitemap.xml", *(f"/Modhub/{mod_id}" for mod_id in others)]
    for cookie in ("", f"account={OWNER}", "account=8"):
        for path in paths:
            body = ask(site, path, Cookie=cookie).body
            # The search box repeats the word that was asked for.
            secrets = [secret for secret in secrets_of(draft) if MARK[:3] not in path]
            assert not any(secret in body for secret in secrets), path
            assert re.search(rb"/Modhub/%d\b" % draft["id"], body) is None, path
            assert not any(asset["url"].encode() + b'"' in body for asset in draft["assets"]), path


def test_deleting_hides_it_again_everywhere(site, draft):
    publish_test_mod(site, draft)
    restore_mod(site, draft)
    site.as_account(OWNER).delete(mod_address(draft), status=204)
    answers_as_what_never_was(site, draft)
    assert site.get(f"/api/modhub?q={MARK}").json == site.get("/api/modhub?q=Yyyyyyyyy").json
    assert site.get("/api/modhub").json["total"] == 2
    assert site.as_account(OWNER).get("/api/modhub/mine").json == {"count": 0, "mods": []}
