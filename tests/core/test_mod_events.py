"""The events of mods: each is fired once, in the transaction of its change."""

import sys
from types import ModuleType

import pytest
from sqlalchemy import select

from modhub.base.errors import invalid
from modhub.catalogue.models import Mod
from modhub.plugins.events import AccountDeleted, ModChanged, ModPublished, ModsDeleted
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import (
    OWNER,
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
from tests.owning import delete_mod, edit_mod

pytestmark = pytest.mark.slow

FEATURE = "modhub_listening"
PUBLISHED, CHANGED, DELETED = "ModPublished", "ModChanged", "ModsDeleted"
VERSION = "the version of ModChanged"


class Listener:
    """A feature that collects the events. With ``refuse`` the next event raises."""

    def __init__(self):
        self.heard = []
        self.refuse = False

    def includeme(self, config):
        config.include("modhub")
        for kind in (ModPublished, ModChanged, ModsDeleted):
            config.add_subscriber(self.hear, kind)

    def hear(self, event):
        name = type(event).__name__
        ids = event.mod_ids if name == DELETED else (event.mod_id,)
        # What it is told of has been written, and what is deleted is still there.
        columns = select(Mod.id, Mod.published, Mod.version).where(Mod.id.in_(ids))
        there = {row.id: row for row in event.session.execute(columns)}
        assert sorted(there) == sorted(ids)
        assert name != PUBLISHED or there[event.mod_id].published
        self.heard.append((name, ids))
        if name == CHANGED and event.version:
            assert there[event.mod_id].version == event.version
            self.heard.append((VERSION, ids))
        if self.refuse:
            raise invalid("The subscriber refuses.")

    def since(self, act):
        """The events fired while ``act`` runs."""
        self.heard.clear()
        act()
        return list(self.heard)


@pytest.fixture
def listener(monkeypatch):
    module, made = ModuleType(FEATURE), Listener()
    module.includeme = made.includeme
    monkeypatch.setitem(sys.modules, FEATURE, module)
    return made


@pytest.fixture
def site(start, listener):
    return start(f"{TEST_ACCOUNTS} {FEATURE}", fresh=True)


def delete_account(site, account_id):
    with site.databases.write_session.begin() as session:
        site.registry.notify(AccountDeleted(account_id, session, site.registry))


def test_publishing_fires_one_event(site, listener):
    mod = new_mod(site)
    upload_asset(site, mod, "code", version="1")
    assert listener.since(lambda: publish_test_mod(site, mod)) == [(PUBLISHED, (mod["id"],))]
    assert listener.since(lambda: publish_test_mod(site, mod)) == []
    hide_mod(site, mod)
    restore_mod(site, mod)
    assert (PUBLISHED, (mod["id"],)) not in listener.heard
    # A hidden mod that is published is not announced.
    hidden = new_mod(site)
    upload_asset(site, hidden, "code", version="1")
    hide_mod(site, hidden)
    assert listener.since(lambda: publish_test_mod(site, hidden)) == [(CHANGED, (hidden["id"],))]


@pytest.mark.parametrize("make", [new_mod, published_mod], ids=["draft", "published"])
def test_each_change_fires_an_event(site, listener, make):
    mod = make(site)
    owner, url = site.as_account(OWNER), mod_address(mod)
    image = upload_asset(site, mod, "images", b"image")["assets"][-1]["url"].replace("/Modhub/file", f"{url}/images")
    upload_asset(site, mod, "code", version="9")
    note = f"{url}/changelog/{owner.get(f'{url}/notes').json['notes'][0]['id']}"
    acts = {
        "edit": lambda: owner.put_json(url, {"title": "Another"}),
        "code": lambda: upload_asset(site, mod, "code", version="10"),
        "css": lambda: upload_asset(site, mod, "css"),
        "image": lambda: upload_asset(site, mod, "images", b"another"),
        "image removed": lambda: owner.delete(image, status=204),
        "note": lambda: owner.put_json(note, {"text": "Why"}),
        "note removed": lambda: owner.delete(note, status=204),
        "hidden": lambda: hide_mod(site, mod),
        "restored": lambda: restore_mod(site, mod),
    }
    heard = {name: listener.since(act) for name, act in acts.items()}
    uploaded = heard.pop("code")
    # A version of a draft is no news.
    assert uploaded == [(CHANGED, (mod["id"],)), (VERSION, (mod["id"],))][: 1 if make is new_mod else 2]
    assert heard == {name: [(CHANGED, (mod["id"],))] for name in heard}


def test_an_edit_without_changes_fires_no_event(site, listener):
    mod = published_mod(site, title="Same")
    hide_mod(site, mod)
    acts = {
        "the same title": lambda: edit_mod(site, mod, title="Same"),
        "another reason": lambda: hide_mod(site, mod, "another"),
        "a draft is made": lambda: new_mod(site),
        "a stranger": lambda: site.as_account(8).put_json(mod_address(mod), {"title": "Mine"}, status=401),
    }
    assert {name: listener.since(act) for name, act in acts.items()} == {name: [] for name in acts}


def test_a_deletion_fires_its_event(site, listener, run_admin):
    first, second, third = (published_mod(site) for _ in range(3))
    assert listener.since(lambda: delete_mod(site, first)) == [(DELETED, (first["id"],))]
    by_operator = listener.since(lambda: run_admin(site, "mod", "delete", second["id"], "--yes"))
    assert by_operator == [(DELETED, (second["id"],))]
    assert listener.since(lambda: delete_account(site, OWNER)) == [(DELETED, (third["id"],))]


@pytest.mark.postgres
def test_an_account_with_many_mods_fires_events_in_batches(site, listener, monkeypatch):
    monkeypatch.setattr("modhub.db.bulk.batches.__defaults__", (2,))
    ids = insert_mods(site, [{}, {}, {}])
    assert listener.since(lambda: delete_account(site, OWNER)) == [(DELETED, tuple(ids[:2])), (DELETED, (ids[2],))]


@pytest.mark.postgres
def test_a_subscriber_that_raises_rolls_the_change_back(site, listener):
    mod, draft = published_mod(site, title="Before"), new_mod(site)
    upload_asset(site, draft, "code", version="1")
    owner = site.as_account(OWNER)
    listener.refuse = True
    owner.put_json(mod_address(mod), {"title": "After"}, status=400)
    owner.post(mod_address(draft, "publish"), status=400)
    owner.delete(mod_address(mod), status=400)
    listener.refuse = False
    assert [name for name, _ in listener.heard[-3:]] == [CHANGED, PUBLISHED, DELETED]
    assert site.get(mod_address(mod)).json["title"] == "Before"
    site.get(mod_address(draft), status=404)
    assert notes_of_mod(site, mod) != []
