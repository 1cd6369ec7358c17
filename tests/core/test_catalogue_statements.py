"""The number of SQL statements of each list and read is constant."""

import uuid
from itertools import pairwise

import pytest

from modhub_testing.mods import OWNER, insert_mods, mod_address, new_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync "
    "modhub_wiki modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
ABSENT = "01234567-89ab-cdef-0123-456789abcdef"


def count(site, act):
    with site.counted() as statements:
        act()
    return len(statements)


# One more than they read themselves if the response may be cached.
READS = {
    "/api/modhub": 3,
    "/api/modhub?size=100&sort=top": 2,
    "/api/modhub?q=mod": 4,  # the number of hits and that of all mods tell how to read them
    "/api/modhub?q=mo+d+mod&game=Portal&sort=top": 4,  # also how many the game has, and whether more have the words
    "/api/modhub?page=1000": 2,
    "/api/modhub/games": 2,
    "/api/modhub/{id}": 3,  # what is in the chain and how large it is, then its documents
    "/api/modhub/{id}/changelog": 2,
    "/api/modhub/{id}/vote": 1,
    "/api/modhub/{id}/download": 1,
    "/Modhub/file/{asset}": 1,
    "/api/modhub/999999": 2,
    "/api/modhub/abc": 1,
    "/Modhub/file/999999": 1,
    "/healthz": 0,
}


@pytest.mark.postgres
@pytest.mark.parametrize("many", [False, True])
def test_anonymous_reads(site, many):
    # T-B3
    mod = published_mod(site, title="mod", games=["Portal"])
    for version in range(2, 6 if many else 2):
        upload_asset(site, mod, "code", version=str(version))
        upload_asset(site, mod, "images", content_type="image/png")
    insert_mods(site, [{"games": ["Portal"]}] * (120 if many else 1))
    asset = mod["assets"][0]["url"].rpartition("/")[2]
    in_order = {"/api/modhub?q=mod": 3} if site.databases.dialect == "sqlite" else {}
    for url, statements in (READS | in_order).items():
        filled = url.format(id=mod["id"], asset=asset)
        assert count(site, lambda url=filled: site.get(url, expect_errors=True)) == statements, url


PAGES = {
    "/Modhub": 5,
    "/Modhub?page=1": 3,
    "/Modhub?q=mod&game=Portal&sort=top&size=100": 5,
    "/Modhub?page=1000": 2,
    "/Modhub/{id}": 3,
    "/Modhub/{id}?changelog=2": 3,
    "/Modhub/{id}/install": 2,
    "/Modhub/feed": 3,
    "/Modhub/{id}/feed": 1,
    "/Modhub/feed.json": 3,
    "/Modhub/{id}/feed.json": 1,
    "/Modhub/by/{owner}": 4,
    "/Modhub/by/{owner}/feed": 3,
    "/opensearch.xml": 0,
    "/robots.txt": 0,
    "/sitemap.xml": 4,
    "/sitemap.xml?of=authors": 1,
    "/sitemap.xml?of=mods": 1,
    "/sitemap.xml?of=pages": 0,
    "/Modhub/999999": 1,
    "/Modhub/abc": 0,
    "/Modhub/doc": 0,
}
OWN_PAGES = {
    "/Modhub": 5,
    "/Modhub?page=1": 3,
    "/Modhub/{id}": 4,
    "/Modhub/mine": 5,
    "/Modhub/mine/new": 1,
    "/Modhub/mine/{id}": 11,
    "/Modhub/mine/{id}/preview": 4,
    "/Modhub/mine/{draft}": 11,
    "/Modhub/mine/{draft}/preview": 10,
}


def fill(site):
    """A mod and a draft with something of everything, among some."""
    needed = [published_mod(site, title=f"mod {number}", games=["Portal"]) for number in range(3)]
    relations = {"requires": [needed[0]["guid"], ABSENT], "conflictsWith": [needed[1]["guid"]]}
    mod = published_mod(site, title="mod", games=["Portal"], **relations)
    draft = new_mod(site, title="draft", **relations)
    published_mod(site, title="user", requires=[mod["guid"], draft["guid"]])
    upload_asset(site, draft, "code", version="1")
    return mod, draft


def grow(site, *mods):
    """A long chain, many users, many entries, many images, many other mods of the same author."""
    guids = [str(uuid.UUID(int=at)) for at in range(1, 122)]
    chain = pairwise(guids)
    insert_mods(site, [{"guid": guid, "requires": [required], "games": ["Portal"]} for guid, required in chain])
    for mod in mods:
        insert_mods(site, [{"requires": [mod["guid"]], "owner": 9, "games": [f"Game {at}"]} for at in range(60)])
        for version in range(2, 14):
            upload_asset(site, mod, "code", version=str(version))
        for _ in range(3):
            upload_asset(site, mod, "images", content_type="image/png")
        both = {"requires": guids[:40], "conflictsWith": guids[60:100]}
        site.as_account(OWNER).put_json(mod_address(mod), both)


def test_no_page_asks_more_when_there_is_more(site):
    mod, draft = fill(site)
    # There is no second page yet: the last one is read instead.
    few = PAGES | {"/Modhub/{id}?changelog=2": 4}
    for number, pages in enumerate((few, OWN_PAGES, PAGES, OWN_PAGES)):
        if number == 2:
            grow(site, mod, draft)
        site.reset()
        if pages is OWN_PAGES:
            site.set_cookie("account", str(OWNER))
        for url, statements in pages.items():
            filled = url.format(id=mod["id"], draft=draft["id"], owner=OWNER)
            assert count(site, lambda url=filled: site.get(url, expect_errors=True)) == statements, (number, url)


def test_the_front_and_a_mod_with_all_features(start):
    site = start(FEATURES, fresh=True)
    needed, rival, guid = (str(uuid.UUID(int=at)) for at in (1, 2, 3))
    insert_mods(site, [{"guid": needed}, {"guid": rival}, {"guid": guid, "requires": [needed], "conflicts": [rival]}])
    insert_mods(site, [{"requires": [guid], "games": ["Portal"]}] * 8)
    assert count(site, lambda: site.get("/Modhub", status=200)) <= 7
    assert count(site, lambda: site.get("/Modhub/3", status=200)) <= 8


def call_cost(site, account, method, url):
    caller = site if account is None else site.as_account(account)
    return count(site, lambda: caller._gen_request(method, url, params=b'{"value": 1}', expect_errors=True))


@pytest.mark.postgres
def test_a_foreign_and_an_absent_mod_cost_the_same(site):
    # C-OWN-12, T-B3
    mod, draft = published_mod(site), new_mod(site)
    note = site.get(mod_address(mod, "changelog")).json["notes"][0]["id"]
    for account in (None, 8):
        for rest in ("", f"/changelog/{note}", f"/images/{note}"):
            ids = (mod["id"], draft["id"], 10**9, "abc")
            costs = {call_cost(site, account, "DELETE", f"/api/modhub/{mod_id}{rest}") for mod_id in ids}
            assert costs == {1}, rest
        votes = {call_cost(site, account, "PUT", f"/api/modhub/{mod_id}/vote") for mod_id in (draft["id"], 10**9)}
        assert votes == {1} if account else len(votes) == 1


@pytest.mark.postgres
def test_writes_do_not_grow_with_what_the_mod_has(site):
    mod = published_mod(site)
    own = site.as_account(OWNER)
    titles = iter("abcdef")
    few = count(site, lambda: own.put_json(mod_address(mod), {"title": next(titles)}))
    for number in range(6):
        upload_asset(site, mod, "images", content_type="image/png")
        upload_asset(site, mod, "code", version=f"v{number}")
    assert count(site, lambda: own.put_json(mod_address(mod), {"title": next(titles)})) == few
    assert few <= 20
    assert count(site, lambda: own.put_json(mod_address(mod), {})) < few
