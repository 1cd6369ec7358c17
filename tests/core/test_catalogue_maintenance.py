"""Batch deletion, savepoints, votes, and ``verify`` and ``rebuild`` while the service runs."""

from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import event, func, insert, select

from modhub.blobs.models import StoredBlob
from modhub.catalogue import copies
from modhub.catalogue.models import Asset, Mod, Note, PublicMod, Vote
from modhub.db import bulk
from modhub.plugins.events import AccountDeleted
from modhub_testing.mods import OWNER, copy_damage, insert_mods, mod_address, new_mod, published_mod, upload_asset
from tests.people import write

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

LEAVING, STAYING = 50, 51
TIME = datetime(2026, 2, 1, tzinfo=UTC)
GUID = "11111111-2222-4333-8444-555555555555"


def rows(site, statement):
    with site.databases.readonly_session() as session:
        return [tuple(row) for row in session.execute(statement)]


def cast(site, votes):
    with site.databases.write_session.begin() as session:
        session.execute(insert(Vote), [{**vote, "cast_at": TIME} for vote in votes])


def one_file(key):
    blob = StoredBlob(key=f"{key:0>32}", size=1, sha256="0" * 64, created_at=TIME)
    return Asset(kind="image", name="a.png", content_type="image/png", stored_at=TIME, blob=blob)


def a_life(site, many):
    """``LEAVING`` owns as many mods with a file as it has voted on; ``STAYING`` votes on all. (owned, voted)."""
    own = [{"owner": LEAVING, "ups": 1, "assets": [one_file(f"{many}f{at}")]} for at in range(many)]
    owned = insert_mods(site, own)
    voted = insert_mods(site, [{"ups": 1 + (at % 2), "downs": (at + 1) % 2} for at in range(many)])
    note = {"version": "1", "size": 1, "sha256": "0" * 64, "created_at": TIME}
    write(site, insert(Note).values([{**note, "mod_id": mod_id} for mod_id in owned]))
    both = [{"mod_id": mod_id, "account_id": STAYING, "value": 1} for mod_id in owned + voted]
    leaving = zip(voted, [-1, 1] * many, strict=False)
    cast(site, both + [{"mod_id": mod_id, "account_id": LEAVING, "value": value} for mod_id, value in leaving])
    return owned, voted


def end_account(site):
    """Delete the account's mods and votes; return the number of statements."""
    with site.counted() as statements, site.databases.write_session.begin() as session:
        site.registry.notify(AccountDeleted(LEAVING, session, site.registry))
    return len(statements)


def counts_are_true(site):
    """The counters of the mods and of their copies match the votes."""
    for value, kept in ((1, Mod.ups), (-1, Mod.downs)):
        votes = select(func.count()).where(Vote.mod_id == Mod.id, Vote.value == value).scalar_subquery()
        assert rows(site, select(Mod.id).where(kept != votes)) == []
    assert copy_damage(site) == []


def test_an_accounts_mods_are_deleted_in_batches(site, monkeypatch):
    # C-OWN-11
    took = []
    for many in (5, 300):
        owned, voted = a_life(site, many)
        counts_are_true(site)
        took.append(end_account(site))
        counts_are_true(site)
        assert {account for (account,) in rows(site, select(Vote.account_id))} == {STAYING}
        assert rows(site, select(Mod.id).where(Mod.id.in_(owned))) == []
        assert (
            len(rows(site, select(Mod.ups, Mod.downs).where(Mod.id.in_(voted), Mod.ups == 1, Mod.downs == 0))) == many
        )
        assert {score for (score,) in rows(site, select(PublicMod.score))} == {1}
    assert took[0] == took[1] < 38
    assert rows(site, select(StoredBlob.id).where(StoredBlob.trashed_at.is_(None))) == []
    assert len(rows(site, select(StoredBlob.id))) == 305
    monkeypatch.setattr(bulk, "batches", partial(bulk.batches, size=2))
    a_life(site, 3)
    end_account(site)
    counts_are_true(site)
    assert rows(site, select(Mod.id).where(Mod.owner == LEAVING)) == []


def test_a_vote_writes_the_score_and_no_other_copy(site):
    mod = published_mod(site, games=["Portal"], requires=[GUID])
    for value in (1, -1, 0):
        with site.counted() as statements:
            site.as_account(8).put_json(mod_address(mod, "vote"), {"value": value}, status=200)
        written = [statement for statement in statements if "core_public" in statement and statement[:6] != "SELECT"]
        assert [statement[:32] for statement in written] == ["UPDATE core_public_mod SET score"]
        assert rows(site, select(PublicMod.score)) == [(value,)]
        assert copy_damage(site) == []


@pytest.mark.parametrize("votes_first", [True, False])
def test_a_vote_beside_another_change_hides_nothing(site, votes_first):
    mod = published_mod(site)
    with site.databases.write_session.begin() as session:
        row = session.get_one(Mod, mod["id"])
        for name in ("ups", "title") if votes_first else ("title", "ups"):
            setattr(row, name, {"ups": 5, "title": "Both"}[name])
            session.flush()
    assert copy_damage(site) == []
    assert rows(site, select(PublicMod.score)) == [(5,)]
    assert site.get(mod_address(mod)).json["title"] == "Both"


@contextmanager
def after_each_statement(site, act):
    """``act`` is called after each statement of those who only read."""
    engine, heard = site.databases.readonly_engine, lambda *_: act()
    event.listen(engine, "after_cursor_execute", heard)
    yield
    event.remove(engine, "after_cursor_execute", heard)


def test_a_change_between_any_two_readings_is_no_damage(site):
    own = site.as_account(OWNER)
    mods = [published_mod(site, title=f"mod {at}", games=["Portal"], requires=[GUID]) for at in range(2)]
    draft = new_mod(site)
    upload_asset(site, draft, "code", version="1")
    moments = 0

    def read(at):
        """The damage reported when everything changes once after this many statements."""
        nonlocal moments
        moments = 0

        def heard():
            nonlocal moments
            moments += 1
            if moments == at:
                change(at)

        with after_each_statement(site, heard):
            return copy_damage(site)

    def change(at):
        own.put_json(mod_address(mods[0]), {"title": f"changed {at}", "games": [f"game {at}"], "requires": []})
        site.as_account(8).put_json(mod_address(mods[1], "vote"), {"value": 1 - 2 * (at % 2)})
        (image,) = upload_asset(site, mods[1], "images", content_type="image/png")["assets"][1:]
        own.delete(mod_address(mods[1], "images", image["url"].rpartition("/")[2]))
        if at == 1:
            own.post(mod_address(draft, "publish"))
        if at == 2:
            own.delete(mod_address(draft))

    at = 1
    while at == 1 or at <= moments:
        assert read(at) == [], at
        at += 1
    assert at > 8
    assert copy_damage(site) == []


def test_a_mod_that_never_rests_is_no_damage(site, monkeypatch):
    mod = published_mod(site, games=["Portal"])
    monkeypatch.setattr(copies, "MAX_READS", 2)
    own, changing, changes = site.as_account(OWNER), False, 0

    def change():
        nonlocal changing, changes
        if not changing:
            changing, changes = True, changes + 1
            own.put_json(mod_address(mod), {"title": f"title {changes}"})
            changing = False

    with after_each_statement(site, change):
        assert copy_damage(site) == []
    assert changes > 20
    assert copy_damage(site) == []


def test_others_can_write_while_copies_are_rebuilt(site, monkeypatch):
    mods = [published_mod(site, title=f"mod {at}") for at in range(5)]
    draft = new_mod(site)
    upload_asset(site, draft, "code", version="1")
    own = site.as_account(OWNER)
    acts = [
        lambda: own.delete(mod_address(mods[4]), status=204),
        lambda: own.post(mod_address(draft, "publish"), status=200),
        lambda: own.put_json(mod_address(mods[0]), {"title": "while it runs"}, status=200),
    ]
    monkeypatch.setattr(copies, "REBUILD_BATCH", 2)
    monkeypatch.setattr(copies, "sleep", lambda _seconds: acts.pop(0)())
    assert copies.rebuild_copies(site.databases.write_session.begin) == 5
    assert acts == []
    assert copy_damage(site) == []
