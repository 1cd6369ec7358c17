"""Popular this week: an order and a row of pages, computed into a table; and the figure on cards."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update

import modhub_downloads.popular
from modhub.catalogue.models import Vote
from modhub.db import now
from modhub_downloads.models import DailyDownloads, PopularMod, PopularState
from modhub_downloads.popular import update_popular, weight_of
from modhub_testing.mods import hide_mod, insert_mods, new_mod, published_mod, upload_asset
from modhub_testing.workers import find_worker
from tests.owning import delete_mod, vote
from tests.people import read, write

from .conftest import FEATURES, count

pytestmark = pytest.mark.postgres


def compute(site):
    """As if the last time was long ago."""
    write(site, delete(PopularState))
    assert update_popular(site.registry)


def popular(site, query=""):
    page = site.get(f"/Modhub?sort=popular{query}").html
    return [link.text for link in page.select(".cards h3 a")]


def weights(site):
    return {row.mod_id: row.weight for row in read(site, select(PopularMod))}


def test_downloads_of_the_week_come_first_then_its_votes_then_the_newest(site):
    # C-FRONT-7
    mods = {name: published_mod(site, title=name, games=["Portal"]) for name in "abcdefgh"}
    count(site, mods["a"]["id"], (0, 2), (6, 3), (7, 900))
    count(site, mods["b"]["id"], (1, 6))
    count(site, mods["c"]["id"], (3, 5))
    count(site, mods["d"]["id"], (8, 500))
    votes = {"c": [1, 1, 1], "e": [1, 1], "f": [-1, 1, 1, 1, -1], "g": [-1], "d": [1, 1, 1]}
    for name, values in votes.items():
        for account, value in enumerate(values, start=8):
            vote(site, mods[name], account, value)
    old = now() - timedelta(days=7, seconds=5)
    write(site, update(Vote).where(Vote.mod_id == mods["d"]["id"]).values(cast_at=old))
    compute(site)
    # More downloads, then more votes; votes against alone are no reason; the others by their last change.
    assert popular(site) == ["b", "c", "a", "e", "f", "h", "g", "d"]
    assert set(weights(site)) == {mods[name]["id"] for name in "abcef"}
    assert popular(site, "&game=portal&q=b") == ["b"]
    row = site.get("/Modhub").html.find(id="row-popular").find_parent("section")
    assert [link.text for link in row.select("h3 a")] == ["b", "c", "a", "e", "f"]
    assert row.select_one(".all")["href"] == "/Modhub?sort=popular"
    assert not site.get("/Modhub").html.find(id="row-top"), "it stands in the place of the core's row"


def test_it_is_computed_every_ten_minutes_at_most_by_one_process(site, start):
    # C-FRONT-7
    other = start(FEATURES, url=site.registry.settings["sqlalchemy.url"])
    mod = published_mod(site)
    assert update_popular(site.registry)
    count(site, mod["id"], (0, 1))
    for process in (site, other):
        assert not update_popular(process.registry)
    assert weights(site) == {}

    def computed(ago):
        write(site, update(PopularState).values(computed_at=now() - ago))
        return update_popular(other.registry)

    assert not computed(timedelta(minutes=9, seconds=50))
    assert computed(timedelta(minutes=10))
    assert weights(site) == {mod["id"]: weight_of(1, 0)}
    # A clock that ran ahead does not stop it.
    assert computed(timedelta(minutes=-30))
    worker = find_worker(site.registry, "popular mods")
    assert (worker.alone, worker.every) == (True, 60)


def test_only_what_has_changed_is_written(site, monkeypatch):
    ids = insert_mods(site, [{"title": f"Mod {at}"} for at in range(6)])
    monkeypatch.setattr(modhub_downloads.popular.bulk, "BATCH", 2)
    for at, mod_id in enumerate(ids):
        count(site, mod_id, (6, 10 + at))
    compute(site)
    expected = {mod_id: weight_of(10 + at, 0) for at, mod_id in enumerate(ids)}
    assert weights(site) == expected
    count(site, ids[3], (0, 5))
    write(site, delete(DailyDownloads).where(DailyDownloads.mod_id == ids[1]))
    with site.counted() as statements:
        compute(site)
    del expected[ids[1]]
    assert weights(site) == {**expected, ids[3]: weight_of(18, 0)}
    assert sum(statement.startswith("DELETE FROM downloads_popular WHERE") for statement in statements) == 1


def test_one_download_outweighs_all_votes():
    assert weight_of(1, -(10**9)) > weight_of(0, 10**9)
    assert weight_of(0, 2) > weight_of(0, 1) > weight_of(0, 0) > weight_of(0, -1)
    assert weight_of(10**12, 0) < 2**63


def test_hidden_and_deleted_mods_leave_at_once_and_drafts_never_appear(site):
    # C-PRO-2
    shown, hidden, deleted, draft = (published_mod(site, title=name) for name in ("a", "b", "c", "x"))
    draft = new_mod(site, title="Canary")
    upload_asset(site, draft, "code", version="1")
    for mod in (shown, hidden, deleted, draft):
        count(site, mod["id"], (0, 9))
    compute(site)
    assert "Canary" not in popular(site)
    hide_mod(site, hidden)
    delete_mod(site, deleted)
    assert popular(site) == ["a", "x"]
    assert deleted["id"] not in weights(site)
    for address in ("/Modhub", "/Modhub/feed?sort=popular", "/Modhub/feed.json?sort=popular"):
        assert "Canary" not in site.get(address).text
