"""Authors' pages: their published mods, the feeds of exactly that, and the by-lines that lead there."""

import pytest
from bs4 import BeautifulSoup
from pyramid.scripting import prepare

from modhub.plugins.services import IModCards
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    new_mod,
    notes_of_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from tests.owning import vote, write_note

pytestmark = pytest.mark.slow

BASE = "https://mods.example.org"
HERE = f"/Modhub/by/{OWNER}"


@pytest.fixture
def site(start):
    return start(modhub__base_url=BASE)


def titles(page):
    return [link.text for link in page.html.select(".card h3 a")]


def test_an_author_has_a_page_with_their_published_mods(site):
    # C-PAGE-1
    first, _draft, hidden = published_mod(site, title="One"), new_mod(site, title="Draft"), published_mod(site)
    published_mod(site, owner=8, title="Somebody else's")
    hide_mod(site, hidden)
    published_mod(site, title="Two")
    page = site.get(HERE)
    assert titles(page) == ["Two", "One"]
    assert page.html.h1.text == f"Person {OWNER}"
    assert "Member since January 2026" in page.html.select_one(".author-top").text.replace("\n", " ")
    # By-lines lead there, on cards and on the mod's page.
    for place in ("/Modhub?sort=new", HERE, first["url"]):
        assert site.get(place).html.select_one(f'a[href="{HERE}"]').text == f"Person {OWNER}"
    assert site.get("/sitemap.xml").text.count(f"<loc>{BASE}{HERE}</loc>") == 1
    # A reader who has the page gets a short answer until something changes.
    known = {"If-None-Match": page.headers["ETag"]}
    site.get(HERE, headers=known, status=304)
    restore_mod(site, hidden)
    assert titles(site.get(HERE, headers=known, status=200)) == ["Two", "A mod", "One"]


def test_an_author_has_the_votes_of_all_their_mods(site):
    first, second, hidden = (published_mod(site, title=title) for title in ("One", "Two", "Hidden"))
    assert site.get(HERE).html.select(".author-top .totals") == []
    for voter, mod, value in ((8, first, 1), (9, first, 1), (8, second, -1), (9, second, 1), (8, hidden, -1)):
        vote(site, mod, voter, value)
    hide_mod(site, hidden)
    assert site.get(HERE).html.select_one(".author-top .totals").text.split() == ["4", "votes"]


def test_an_author_without_published_mods_is_nobody(site):
    # C-PAGE-1
    draft, hidden = new_mod(site), published_mod(site, owner=8)
    assert draft["published"] is False
    hide_mod(site, hidden)
    nobody = site.get("/Modhub/by/999", status=404).text.replace("999", "7")
    for account in (OWNER, 8, "x", "07"):
        for end in ("", "/feed", "/feed.json"):
            site.get(f"/Modhub/by/{account}{end}", status=404)
    assert site.get(HERE, status=404).text == nobody
    # Not even to the owner.
    site.set_cookie("account", str(OWNER))
    site.get(HERE, status=404)
    site.get("/Modhub/by", status=404)
    assert "/Modhub/by/" not in site.get("/sitemap.xml").text


def test_a_list_says_each_version_once_and_the_newest_first(site):
    # C-PAGE-40
    mod = published_mod(site, title="Tool", version="1")
    for version in ("2", "3"):
        upload_asset(site, mod, "code", version=version)
    published_mod(site, title="Other", version="1")
    items = site.get("/Modhub/feed.json").json["items"]
    assert [item["title"] for item in items] == ["Other 1", "Tool 3", "Tool 2", "Tool 1"]
    # A page of the feed has as many entries as the list has mods; by votes there is one for each mod.
    assert [item["title"] for item in site.get("/Modhub/feed.json?size=2").json["items"]] == ["Other 1", "Tool 3"]
    assert len(site.get("/Modhub/feed.json?sort=top").json["items"]) == 2
    # What its author rewrites stays behind what is newer.
    note = notes_of_mod(site, mod)[1]
    write_note(site, mod, note["id"], "<p>Two</p>")
    again = site.get("/Modhub/feed.json").json["items"]
    assert [item["id"] for item in again] == [item["id"] for item in items]


def test_a_feature_shows_cards_in_its_own_order(site):
    one, two, three = (published_mod(site, title=title) for title in ("One", "Two", "Three"))
    draft = new_mod(site, title="Draft")
    with prepare(registry=site.registry) as environ:
        ids = [two["id"], draft["id"], three["id"], one["id"]]
        cards = site.find_service(IModCards).get_cards(environ["request"], ids)
    assert [link.text for link in BeautifulSoup(cards, "html.parser").select(".card h3 a")] == ["Two", "Three", "One"]
