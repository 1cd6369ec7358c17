"""The filter of the list by a tag: with all other parameters, on pages and in feeds, never in the API."""

import json
import re
from itertools import product
from urllib.parse import urlsplit

import pytest
from sqlalchemy import insert

from modhub.catalogue.reading.service import CatalogueReader, ListParams
from modhub_downloads.models import ModDownloads
from modhub_tags.models import ModTag
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import hide_mod, insert_mods, new_mod, published_mod
from tests.owning import delete_mod
from tests.people import write

from .conftest import tag

MODS = 24
COUNTS = {1: 5, 4: 900, 9: 5, 12: 7, 20: 5}
"""Downloads by place of the mod."""


@pytest.fixture
def site(start):
    return start(f"{TEST_ACCOUNTS} modhub_tags modhub_downloads")


def is_map(place):
    return place % 3 == 0


def is_chat(place):
    return place > 20


@pytest.fixture
def ids(site):
    """The mods, the one changed longest ago first: every third is a map, the last ones are for chats."""
    mods = [
        {"title": f"Mod {at}", "games": ["Portal" if at % 2 else "Tetris"], "ups": at % 5, "downs": 0}
        for at in range(MODS)
    ]
    mod_ids = insert_mods(site, mods)
    tags = [(mod_ids[at], "map") for at in range(MODS) if is_map(at)]
    tags += [(mod_ids[at], "chat") for at in range(MODS) if is_chat(at)]
    counts = [(mod_ids[at], number) for at, number in COUNTS.items()]
    # A mod whose deletion was missed.
    write(site, insert(ModTag).values([*tags, (10**6, "map")]))
    write(site, insert(ModDownloads).values([*counts, (10**6, 10**6)]))
    return mod_ids


def listed(site, query):
    page = site.get(f"/Modhub?{query}").text.partition('id="list">')[2]
    return [int(mod_id) for mod_id in re.findall(r'<h[23]><a href="[^"]*/(\d+)"', page)]


def expected(ids, sort, places):
    order = {
        "new": lambda at: -at,
        "top": lambda at: (-(at % 5), -at),
        "downloads": lambda at: (-COUNTS[at], -at) if at in COUNTS else (0, -at),
    }
    return [ids[at] for at in sorted(places, key=order[sort])]


@pytest.mark.postgres
@pytest.mark.parametrize("sort", ["new", "top", "downloads"])
def test_all_pages_of_a_filter_have_each_mod_once_in_the_order_of_the_list(site, ids, sort):
    # C-FRONT-7
    for query, places in {
        "": range(MODS),
        "tag=map": [at for at in range(MODS) if is_map(at)],
        "game=portal": range(1, MODS, 2),
        "game=tetris&q=mod+1": [10, 12, 14, 16, 18],
    }.items():
        # The last of these pages is empty.
        pages = [listed(site, f"{query}&sort={sort}&size=3&page={number}") for number in range(1, 10)]
        assert [mod_id for page in pages for mod_id in page] == expected(ids, sort, places), query


def test_the_results_of_a_tag_are_counted(site, ids):
    # C-FRONT-7
    for query, total in (("tag=map", "8 mods"), ("tag=chat&q=mod+22", "1 mod")):
        assert site.get(f"/Modhub?{query}").html.find(id="results").text == total


@pytest.mark.parametrize("value", ["MAP", "%00map%ff", "map&tag=chat"])
def test_an_unknown_tag_finds_nothing(site, ids, value):
    # C-FRONT-7, C-ERR-8
    mod_ids = listed(site, f"tag={value}")
    assert mod_ids == ([] if "&" not in value else expected(ids, "new", [21, 22, 23]))


def test_the_page_keeps_the_filter(site, ids):
    # C-FRONT-7
    page = site.get("/Modhub?game=Portal&tag=map&sort=top&size=2").html
    assert page.title.text.startswith("Mods for Portal – Map")
    assert [option["value"] for option in page.select("#tag option[selected]")] == ["map"]
    assert page.select_one("#tag option").text == "All tags"
    canonical = urlsplit(page.select_one('link[rel="canonical"]')["href"])
    assert f"{canonical.path}?{canonical.query}" == "/Modhub?game=Portal&tag=map&sort=top&size=2"
    assert page.select_one('link[rel="next"]')["href"] == "/Modhub?game=Portal&tag=map&sort=top&page=2&size=2"
    assert {link["href"] for link in page.select(".pager a")} == {
        "/Modhub?game=Portal&tag=map&sort=top&page=2&size=2#results",
        "/Modhub?game=Portal&tag=map&sort=top&size=2#results",
    }
    assert page.select_one(".results > a")["href"] == "/Modhub?sort=new"
    feed = page.select_one('link[type="application/feed+json"]')["href"]
    assert feed == "/Modhub/feed.json?game=Portal&tag=map&sort=top"
    assert page.select('link[href^="/api/"]') == [], "the API has no such list"


def test_a_search_finds_tags_by_their_name(site, ids):
    # C-PAGE-65
    def found(query):
        links = site.get(f"/Modhub?{query}").html.select(".found-filter a")
        return [(link.text, link["href"]) for link in links]

    assert found("q=CHA") == [("Tag: Chat (3 mods)", "/Modhub?tag=chat")]
    assert found("q=cosmetic") == [], "no mod has it"
    for elsewhere in ("q=chat+x", "q=chat&game=Portal", "q=chat&page=2", "tag=chat", "q="):
        assert found(elsewhere) == [], elsewhere


def test_the_feeds_have_what_the_list_has(site, ids):
    # C-FRONT-7
    feed = site.get("/Modhub/feed.json?tag=chat").json
    assert [item["_modhub"]["id"] for item in feed["items"]] == expected(ids, "new", [21, 22, 23])
    assert feed["title"].endswith("New and updated mods – chat")
    assert feed["home_page_url"].endswith("/Modhub?tag=chat")
    assert site.get("/Modhub/feed?tag=chat").text.count("<entry") == 3
    assert site.get("/Modhub/feed.json?tag=nothing").json["items"] == []


@pytest.mark.postgres
def test_drafts_hidden_and_deleted_mods_are_not_found(site):
    # C-TAG-2, C-PRO-2
    shown, hidden, deleted, draft = *(published_mod(site) for _ in range(3)), new_mod(site)
    for mod in (shown, hidden, deleted, draft):
        tag(site, mod, "map")
    hide_mod(site, hidden)
    delete_mod(site, deleted)
    for sort in ("new", "top", "downloads"):
        assert listed(site, f"tag=map&sort={sort}") == [shown["id"]]


def test_a_page_asks_once_for_tags(site, start, ids):
    without = start(f"{TEST_ACCOUNTS} modhub_downloads", url=site.registry.settings["sqlalchemy.url"])
    for address in ("/Modhub", f"/Modhub/{ids[0]}"):
        counts = []
        for app in (site, without):
            app.get(address)
            with app.counted() as statements:
                app.get(address)
            counts.append(len(statements))
        assert counts[0] == counts[1] + 1, address
    with site.counted() as statements:
        site.get("/Modhub?tag=map")
    assert sum("tags_tag" in statement for statement in statements) == 1


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_sqlite_reads_the_mods_of_a_rare_tag_from_its_index(site, ids):
    reader = site.find_service(CatalogueReader)
    with site.counted() as statements:
        reader.find(ListParams(filters=(("tag", "chat"),)))
    listing = next(statement for statement in statements if "document" in statement)
    with site.databases.write_engine.begin() as connection:
        values = {"size": 20, "offset": 0, "filter_tag": "chat"}
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {listing}", values)]
    assert any("ix_tags_mod_tag_mod_id" in step or "sqlite_autoindex_tags_mod" in step for step in plan), plan


@pytest.mark.parametrize("choices", [*product([True, False], repeat=3)], ids=str)
@pytest.mark.postgres
def test_the_way_to_read_changes_no_hit(site, ids, monkeypatch, choices):
    # C-FRONT-7
    for name, value in zip(("_has_filter_fewer", "_walks", "_has_game_fewer"), choices, strict=True):
        monkeypatch.setattr(CatalogueReader, name, lambda *_, value=value: value)
    maps = [at for at in range(MODS) if is_map(at)]
    expectations = {
        "tag=chat": [at for at in range(MODS) if is_chat(at)],
        "tag=map&q=mod": maps,
        "tag=map&q=o": maps,
        "tag=map&game=portal": [at for at in maps if at % 2],
        "tag=map&game=portal&q=mod+1": [15, 21],
        "tag=map&game=portal&q=o+1": [15, 21],
        "tag=map&game=tetris&q=mod+1": [12, 18],
    }
    for query, places in expectations.items():
        for sort in ("new", "top", "downloads"):
            mod_ids = listed(site, f"{query}&sort={sort}")
            expected_ids = expected(ids, sort, places)
            assert mod_ids == expected_ids, query


@pytest.mark.parametrize("sort", ["new", "top", "downloads"])
def test_a_row_of_the_front_leaves_libraries_out(site, ids, sort):
    # C-FRONT-7
    reader, libraries = site.find_service(CatalogueReader), {4, 9, 22, 23}
    write(site, insert(ModTag).values([(ids[at], "library") for at in libraries]))
    for front in (True, False):
        page = reader.find(ListParams(sort=sort, size=10, front=front))
        places = [at for at in range(MODS) if not front or at not in libraries]
        mod_ids = [json.loads(document)["id"] for document in page.documents]
        assert mod_ids == expected(ids, sort, places)[:10]
