"""The order "Most downloaded": on pages and in feeds, never in the API."""

import pytest
from sqlalchemy import insert

from modhub.catalogue.reading.service import CatalogueReader, ListParams
from modhub_downloads.models import ModDownloads
from modhub_testing.mods import insert_mods
from tests.people import write

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

MODS = 25
COUNTS = {1: 5, 4: 900, 9: 5, 12: 7, 20: 5, 24: 1}
"""Downloads by place of the mod."""


@pytest.fixture
def ids(site):
    """The mods, the one changed longest ago first."""
    mods = [{"title": f"Mod {at}", "games": ["Portal" if at % 2 else "Tetris"]} for at in range(MODS)]
    mod_ids = insert_mods(site, mods)
    rows = [(mod_ids[at], number) for at, number in COUNTS.items()]
    # A mod that is hidden, or whose deletion was missed: it is on no page.
    write(site, insert(ModDownloads).values([*rows, (10**6, 10**6)]))
    return mod_ids


def test_the_page_leads_on_in_the_same_order(site, ids):
    # C-FRONT-7
    with site.counted() as statements:
        page = site.get("/Modhub?sort=downloads&size=1&game=Tetris").html
    assert sum("downloads_mod" in statement for statement in statements) == 1
    page = site.get("/Modhub?sort=downloads&size=20&game=Tetris&page=1").html
    assert [option.text for option in page.select("#sort option[selected]")] == ["Most downloaded"]
    assert page.select_one('link[rel="canonical"]')["href"].endswith("/Modhub?game=Tetris&sort=downloads")
    page = site.get("/Modhub?sort=downloads").html
    assert page.select_one('link[rel="next"]')["href"] == "/Modhub?sort=downloads&page=2"
    feed = page.select_one('link[type="application/feed+json"]')["href"]
    assert feed == "/Modhub/feed.json?sort=downloads"
    in_feed = [item["_modhub"]["id"] for item in site.get(feed).json["items"]]
    first = [*COUNTS, *sorted(set(range(MODS)) - COUNTS.keys())[-14:]]
    assert sorted(in_feed) == sorted(ids[at] for at in first), "the first mods of this order, the newest first"
    assert site.get("/Modhub/feed?sort=downloads").text.count("<entry") == 20


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_sqlite_reads_the_order_from_its_index_whatever_it_knew_at_analyze(site):
    insert_mods(site, [{"title": f"Mod {at}"} for at in range(MODS)])
    with site.databases.write_engine.begin() as connection:
        connection.exec_driver_sql("ANALYZE")
    site.databases.write_engine.dispose()
    reader = site.find_service(CatalogueReader)
    with site.counted() as statements:
        reader.find(ListParams(sort="downloads"))
    ranked = next(statement for statement in statements if "downloads_mod" in statement)
    with site.databases.write_engine.begin() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {ranked}", {"size": 20, "offset": 0}).all()
    plan = [row[3] for row in rows]
    assert "SCAN downloads_mod USING COVERING INDEX ix_downloads_mod_most" in plan, plan
