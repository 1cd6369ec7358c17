"""Texts of pages fit the situation: empty lists, filter links, link names, headings."""

import re
from itertools import pairwise

import pytest

from modhub.content.outline import Outline
from modhub_testing.mods import notes_of_mod, published_mod
from tests.owning import curate_game, write_note

pytestmark = pytest.mark.slow


def test_an_empty_list_says_what_was_looked_for(site):
    published_mod(site, title="Tower", games=["Portal"])
    for query, lead, way in (
        ("game=%25(q)s%3Cb%3E", "No mods found for the game “%(q)s<b>”.", "/Modhub?sort=new"),
        ("q=x&game=Portal", "No mods for the game “Portal” match “x”.", "/Modhub?q=x"),
    ):
        page = site.get(f"/Modhub?{query}").html.select_one(".empty")
        assert page.select_one(".lead").text == lead
        assert [link["href"] for link in page.select("a")] == [way]
        assert all(part["dir"] == "auto" for part in page.select(".lead span"))


def test_an_empty_list_suggests_games_and_invites_authors(site):
    for name in ("Starfall Rally", "Lantern Depths"):
        curate_game(site, name)
    for query, suggested in (
        ("game=starfall", ["Starfall Rally"]),
        ("q=the+depths+of", ["Lantern Depths"]),
        ("q=of", []),
    ):
        empty = site.get(f"/Modhub?{query}").html.select_one(".empty")
        assert [link.text for link in empty.select(".chips a")] == suggested
    assert site.get("/Modhub").html.select_one(".empty a[href='/Modhub/mine/new']").text == "Publish a mod"
    published_mod(site)
    page = site.get("/Modhub?page=1099&size=1")
    assert page.html.select_one(".lead").text == "There is no page 1,099; this list has 1 page."


def test_what_is_read_of_a_link_is_in_its_name(site):
    base = published_mod(site, title="Base")
    mod = published_mod(site, title="Tower", requires=[base["guid"]])
    page = site.get(mod["url"])
    link = page.html.select_one(".chain a[href$='/download']")
    assert re.fullmatch(r"Download \d+ bytes: Base", link.text.replace("\u00a0", " "))
    assert not [element for element in page.html.select("a[aria-label], button[aria-label]") if element.text.strip()]


def test_headings_have_six_levels():
    outline = Outline(1)
    assert [outline.level(level) for level in range(1, 7)] == [2, 3, 4, 5, 6, 6]


def test_headings_of_owners_stand_below_ours_without_gaps(site, author):
    mod = published_mod(site, description="<h4>A</h4><h2>B</h2><h4>C</h4><h3>D</h3>")
    note = notes_of_mod(site, mod)[0]["id"]
    write_note(site, mod, note, "<h4>E</h4>")
    for page in (site.get(mod["url"]), author.get(f"/Modhub/mine/{mod['id']}?part=changelog")):
        levels = [int(heading.name[1]) for heading in page.html.main.find_all(re.compile("^h[1-6]$"))]
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    prose = site.get(mod["url"]).html.select(".prose :is(h3, h4, h5)")
    assert [heading.name for heading in prose] == ["h3", "h3", "h4", "h4", "h4"]
