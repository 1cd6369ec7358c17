"""The serial of what everybody can see: what raises it, in which order it becomes visible, and what mends it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, text, update

from modhub.catalogue.models import Mod
from modhub.db import changes, now
from modhub.db.changes import ChangeReader, Generation, What
from modhub.plugins.events import AccountDeleted
from modhub_testing.mods import (
    OWNER,
    copy_damage,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    notes_of_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from tests.people import actions, write

pytestmark = pytest.mark.postgres

GUID = "11111111-2222-4333-8444-555555555555"


def serial(site):
    return site.find_service(ChangeReader).generation()[0]


def entries(site, since=0):
    return site.find_service(ChangeReader).page(since, 10_000).changes


def full_text_is_true(site):
    """SQLite's own check of the full-text index against the table that it is made from."""
    if site.databases.dialect == "sqlite":
        write(site, text("INSERT INTO fts_core_text(fts_core_text, rank) VALUES ('integrity-check', 1)"))


def test_each_write_is_seen_as_the_contract_says(site):
    # C-AUD-1, C-MOD-13
    """What feed of changes and audit trail say of it, and whether ``updatedAt`` moves; copies are always true."""
    own, other = site.as_account(OWNER), site.as_account(8)
    mod = new_mod(site, title="One")
    draft = new_mod(site)
    here, mod_id = mod_address(mod), mod["id"]
    coded = upload_asset(site, mod, "code", version="1")
    assert coded["updatedAt"] > mod["updatedAt"] == mod["createdAt"]
    image = upload_asset(site, mod, "images", content_type="image/png")["assets"][-1]["url"].rpartition("/")[2]
    assert serial(site) == 0
    assert publish_test_mod(site, mod)["updatedAt"] > coded["updatedAt"]
    entry_address = mod_address(mod, "changelog", notes_of_mod(site, mod)[0]["id"])

    def order():
        images = [asset["url"] for asset in site.get(here).json["assets"] if asset["kind"] == "image"]
        return [int(url.rpartition("/")[2]) for url in reversed(images)]

    def updated():
        mine = own.get("/api/modhub/mine").json["mods"]
        return str(next((entry["updatedAt"] for entry in mine if entry["id"] == mod_id), ""))

    captions = {"captions": [{"assetId": int(image), "caption": "Calm"}]}
    writes = [
        (lambda: own.post(mod_address(mod, "publish")), "", False, []),
        (lambda: own.put_json(here, {"title": "Two", "games": ["Portal"]}), "edited", True, ["mod edited"]),
        (lambda: own.put_json(here, {"requires": [GUID], "games": []}), "edited", True, ["mod edited"]),
        (lambda: own.put_json(here, {"title": " Two ", "requires": [GUID]}), "", False, []),
        (lambda: upload_asset(site, mod, "code", b"two", version="2"), "file", True, ["file uploaded"]),
        (lambda: upload_asset(site, mod, "css"), "file", True, ["file uploaded"]),
        (lambda: own.put_json(mod_address(mod, "captions"), captions), "file", True, ["image caption changed"]),
        (lambda: own.put_json(mod_address(mod, "captions"), captions), "", False, []),
        (lambda: upload_asset(site, mod, "images", content_type="image/png"), "file", True, ["file uploaded"]),
        (lambda: own.put_json(mod_address(mod, "order"), {"assetIds": order()}), "file", True, ["images reordered"]),
        (lambda: own.put_json(mod_address(mod, "order"), {"assetIds": order()[::-1]}), "", False, []),
        (lambda: own.put_json(mod_address(mod, "superseded"), {"by": GUID}), "file", True, ["successor changed"]),
        (lambda: own.delete(mod_address(mod, "images", image)), "file", True, ["image deleted"]),
        (lambda: upload_asset(site, mod, "code", b"four", version="2", status=409), "", False, []),
        (lambda: other.put_json(mod_address(mod, "vote"), {"value": 1}), "", False, []),
        (lambda: own.put_json(entry_address, {"text": "y"}), "file", False, ["changelog entry edited"]),
        (lambda: own.delete(entry_address), "file", False, ["changelog entry deleted"]),
        (lambda: own.put_json(mod_address(draft), {"title": "A draft"}), "", False, ["mod edited"]),
        (lambda: upload_asset(site, draft, "css"), "", False, ["file uploaded"]),
        (lambda: hide_mod(site, draft), "", False, ["mod hidden"]),
        (lambda: own.delete(mod_address(draft)), "", False, ["mod deleted"]),
        (lambda: hide_mod(site, mod), "deleted", False, ["mod hidden"]),
        (lambda: own.put_json(here, {"title": "Hidden", "games": ["Quake"]}), "", True, ["mod edited"]),
        (lambda: own.post(mod_address(mod, "publish")), "", False, []),
        (lambda: restore_mod(site, mod), "published", False, ["mod restored"]),
        (lambda: own.delete(here), "deleted", False, ["mod deleted"]),
    ]
    assert actions(site) == ["mod created", "mod created", "file uploaded", "file uploaded", "mod published"]
    for number, (act, what, moves, deeds) in enumerate(writes):
        before, was_updated, told = serial(site), updated(), actions(site)
        act()
        assert serial(site) == before + bool(what), number
        assert (updated() > was_updated) == moves, number
        assert actions(site) == told + deeds, number
        if what:
            entry = entries(site)[-1]
            expected = (what, mod["guid"], None if what == "deleted" else mod_id)
            assert (entry.what, entry.key, entry.mod_id) == expected, number
        assert copy_damage(site) == []
        full_text_is_true(site)
    assert [entry.key for entry in entries(site)] == [mod["guid"]]


def test_many_mods_in_one_transaction_have_a_serial_each(site):
    ids = insert_mods(site, [{"owner": 9}] * 3 + [{"published": False, "owner": 9}])
    assert [(entry.serial, entry.mod_id) for entry in entries(site)] == list(enumerate(ids[:3], 1))
    with site.databases.write_session.begin() as session:
        site.registry.notify(AccountDeleted(account_id=9, session=session, registry=site.registry))
    assert [(entry.serial, entry.what, entry.mod_id) for entry in entries(site)] == [
        (number, "deleted", None) for number in (4, 5, 6)
    ]


def test_a_change_is_not_earlier_than_its_mod_where_the_clock_was_set_back(site):
    mod = published_mod(site)
    ahead = now() + timedelta(hours=1)
    write(site, update(Mod).values(updated_at=ahead))
    site.as_account(OWNER).put_json(mod_address(mod), {"title": "Two"})
    assert entries(site)[-1].at == ahead + timedelta(microseconds=1)


def test_a_feature_declares_its_kind(site):
    with site.databases.write_session.begin() as session:
        changes.mark_changed(session, "weather", What.EDITED)
    assert serial(site) == 1
    assert entries(site) == []
    site.config.add_feature("modhub_weather", "Weather", change_kinds=("weather",))
    site.config.commit()
    reader = ChangeReader(site.databases.raw_queries, site.declarations.change_kinds)
    assert [(entry.kind, entry.what) for entry in reader.page(0, 5).changes] == [("weather", "edited")]


@pytest.mark.slow
def test_whoever_reads_a_serial_sees_all_before_it(site):
    """Writers commit in any order; a reader that goes on from each head misses nothing."""
    mods, seen = [published_mod(site, title=f"mod {number}") for number in range(4)], {}

    def write(number):
        for step in range(12):
            title = f"{number} {step}"
            site.as_account(OWNER).put_json(mod_address(mods[number]), {"title": title}, status=200)

    reader, since = site.find_service(ChangeReader), 0
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, number) for number in range(4)]
        while True:
            last = all(future.done() for future in writing)
            page = reader.page(since, 2)
            serials = [entry.serial for entry in page.changes]
            assert serials == sorted(set(serials))
            assert all(since < serial <= page.head for serial in serials)
            seen.update((entry.key, entry.serial) for entry in page.changes)
            since = serials[-1] if serials else page.head
            if last and not serials:
                break
    assert [future.result() for future in writing] == [None] * 4
    assert seen == {entry.key: entry.serial for entry in entries(site)}
    assert serial(site) == len(mods) * 13


def test_the_row_is_locked_only_at_the_end(site):
    """A long transaction does not make others wait before it writes its copies."""
    mod = published_mod(site)
    if site.databases.dialect == "sqlite":
        pytest.skip("SQLite has one writer")
    with site.databases.write_session.begin() as session:
        session.scalars(select(Mod).where(Mod.id == mod["id"])).one().title = "slow"
        session.flush()
        with site.databases.write_engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '1s'"))
            connection.execute(select(Generation).with_for_update())
