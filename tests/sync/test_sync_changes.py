"""The change feed: what is in it, how it is read on, and when it begins again."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from modhub.catalogue.copies import unrecorded_changes
from modhub.catalogue.models import Mod, PublicMod
from modhub.db import changes, now
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    published_mod,
    upload_asset,
)
from tests.owning import delete_mod, edit_mod, write_note
from tests.people import write

pytestmark = pytest.mark.slow

CHANGES = "/api/modhub/changes"


def feed(site, query="", status=200):
    return site.get(CHANGES + query, status=status).json


def follow(site, since=0, limit=7):
    """All changes after ``since`` in pages, and the next serial."""
    changes = []
    while True:
        page = feed(site, f"?since={since}&limit={limit}")
        changes += page["changes"]
        since = page["serial"]
        if not page["more"]:
            return since, changes


@pytest.mark.postgres
def test_an_entry_for_each_mod_with_its_latest_change(site):
    # C-SYNC-4, C-SYNC-5
    assert feed(site) == {"feed": feed(site)["feed"], "serial": 0, "more": False, "changes": []}
    edited, uploaded, deleted = (published_mod(site, title=title) for title in ("One", "Two", "Three"))
    new_mod(site)
    edit_mod(site, edited, title="Uno")
    upload_asset(site, uploaded, "code", b"new", version="2")
    delete_mod(site, deleted)
    answer = feed(site)
    assert [entry.pop("at")[-1] for entry in answer["changes"]] == ["Z"] * 3
    assert answer == {
        "feed": answer["feed"],
        "serial": 6,
        "more": False,
        "changes": [
            {"serial": 4, "kind": "mod", "guid": edited["guid"], "id": edited["id"], "what": "edited"},
            {"serial": 5, "kind": "mod", "guid": uploaded["guid"], "id": uploaded["id"], "what": "file"},
            {"serial": 6, "kind": "mod", "guid": deleted["guid"], "what": "deleted"},
        ],
    }
    assert [entry["serial"] for entry in feed(site, "?since=4")["changes"]] == [5, 6]
    assert feed(site, "?since=6")["changes"] == []


@pytest.mark.postgres
def test_pages_lead_to_the_head_in_rising_serials(site):
    # C-SYNC-4
    insert_mods(site, [{}] * 1002)
    serial, entries = follow(site, limit=250)
    assert [entry["serial"] for entry in entries] == list(range(1, 1003))
    assert serial == 1002
    page = feed(site, "?since=3&limit=2")
    assert (page["more"], page["serial"], len(page["changes"])) == (True, 5, 2)
    page = feed(site, "?since=1000&limit=2")
    assert (page["more"], page["serial"], len(page["changes"])) == (False, 1002, 2)
    for limit, count in (("0", 1), ("", 100), ("9" * 30, 1000)):
        assert len(feed(site, f"?limit={limit}")["changes"]) == count, limit
    with site.counted() as statements:
        feed(site, "?limit=1000")
    assert len(statements) == 1


@pytest.mark.postgres
def test_a_new_feed_or_a_serial_from_elsewhere_is_410(site):
    # C-SYNC-6
    published_mod(site)
    known = feed(site)["feed"]
    assert feed(site, f"?since=1&feed={known}")["changes"] == []
    for query in ("?since=2", f"?since={'9' * 40}"):
        feed(site, query, 410)
    with site.databases.write_session.begin() as session:
        changes.start_new_feed(session)
    assert feed(site, f"?since=1&feed={known}", 410)["error"] == "feed_restarted"
    assert feed(site)["feed"] != known


def last_change(site, mod):
    """The serial and the kind of the only change of the mod."""
    (entry,) = (entry for entry in feed(site)["changes"] if entry["guid"] == mod["guid"])
    return entry["serial"], entry["what"]


@pytest.mark.postgres
def test_edits_of_the_changelog_are_changes(site):
    # C-SYNC-5
    mod = published_mod(site, version="1")

    def write_first(mod, text):
        notes = site.as_account(OWNER).get(mod_address(mod, "notes")).json["notes"]
        write_note(site, mod, notes[0]["id"], text)

    write_first(mod, "First.")
    assert last_change(site, mod) == (2, "edited")
    # The mod was written by a machine whose clock is ahead.
    for table in (Mod, PublicMod):
        write(site, update(table).values(updated_at=now() + timedelta(minutes=5)))
    write_first(mod, "First of all.")
    with site.databases.readonly_session() as session:
        assert not [problem for problem in unrecorded_changes(session) if "last change" in problem]
    upload_asset(site, mod, "code", b"another", version="2")
    edit_mod(site, mod, title="A new file stays visible")
    assert last_change(site, mod) == (5, "file")
    # Nobody learns of drafts and hidden mods.
    draft = new_mod(site)
    upload_asset(site, draft, "code", version="1")
    write_first(draft, "x")
    hide_mod(site, mod)
    write_first(mod, "Hidden.")
    assert last_change(site, mod) == (6, "deleted")
