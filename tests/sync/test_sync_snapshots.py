"""Snapshots: the file, the pointer and its signature, what replaces them, and the schedule of the server."""

import gzip
import json
from base64 import b64decode, b64encode
from datetime import timedelta
from functools import partial

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import update

from modhub.admin import program as admin
from modhub.base.settings import StartRefused
from modhub.blobs import maintenance
from modhub.db import now
from modhub.db.changes import PublicChange, start_new_feed
from modhub_sync import limits
from modhub_sync.models import Snapshot
from modhub_sync.snapshots import SnapshotMaker
from modhub_testing import TEST_ACCOUNTS, stored_files
from modhub_testing.clocks import on_a_machine_that_is_ahead
from modhub_testing.mods import (
    hide_mod,
    new_mod,
    published_mod,
    restore_mod,
)
from modhub_testing.workers import run_worker
from tests.owning import delete_mod, edit_mod
from tests.people import write
from tests.races import at_once

pytestmark = pytest.mark.slow

POINTER = "/api/modhub/snapshot"
KEY = b64encode(bytes(range(32))).decode()


def make(site):
    SnapshotMaker(site.registry).make(admin.Admin(site.config).store)
    return site.get(POINTER, status=200).json


def make_if_due(site, hours=0):
    return SnapshotMaker(site.registry).make_if_due(admin.Admin(site.config).store, hours)


def lines(site, pointer):
    return [json.loads(line) for line in gzip.decompress(site.get(pointer["url"]).body).splitlines()]


def age_changes(site, minutes):
    write(site, update(PublicChange).values(at=now() - timedelta(minutes=minutes)))


@pytest.mark.postgres
def test_a_snapshot_is_the_list_by_serial(site, run_admin):
    # C-SYNC-12, C-SYNC-13
    before = site.get(POINTER, status=404)
    assert before.json["error"] == "not_found"
    mods = [published_mod(site, title=f"Mod ü {number}") for number in range(4)]
    new_mod(site)
    hidden = published_mod(site)
    hide_mod(site, hidden)
    edit_mod(site, mods[0], title="Last")
    code, said = run_admin(site, "snapshot")
    assert (code, "Snapshot made: 4 mods, up to serial 7." in said) == (0, True)
    pointer = site.get(POINTER).json
    assert (pointer["serial"], pointer["signature"]) == (7, None)
    site.get("/api/modhub/snapshot/key", status=404)
    file = site.get(pointer["url"])
    assert file.headers["Content-Type"] == "application/gzip"
    snapshot = lines(site, pointer)
    assert [mod["id"] for mod in snapshot] == [mod["id"] for mod in (*mods[1:], mods[0])]
    listed = {mod["id"]: mod for mod in site.get("/api/modhub").json["mods"]}
    assert {mod["id"]: mod for mod in snapshot} == listed
    part = site.get(pointer["url"], headers={"Range": "bytes=2-5"}, status=206)
    assert part.body == file.body[2:6]


def test_a_key_signs_the_pointer(start):
    # C-SYNC-13
    site = start(f"{TEST_ACCOUNTS} modhub_sync", modhub_sync__signing_key=KEY)
    published_mod(site)
    pointer = make(site)
    answer = site.get("/api/modhub/snapshot/key").json
    assert answer["algorithm"] == "Ed25519"
    public = Ed25519PublicKey.from_public_bytes(b64decode(answer["publicKey"]))
    signature = b64decode(pointer.pop("signature"))
    assert len(pointer["feed"]) == 32
    public.verify(signature, json.dumps(pointer, separators=(",", ":"), sort_keys=True).encode())
    with pytest.raises(InvalidSignature):
        public.verify(signature, json.dumps({**pointer, "serial": 9}, separators=(",", ":"), sort_keys=True).encode())


@pytest.mark.parametrize(("name", "value"), [("signing_key", KEY[4:]), ("snapshot_hours", "-1")])
def test_wrong_settings_stop_the_start(start, name, value):
    with pytest.raises(StartRefused, match=f"modhub_sync.{name} must be") as refused:
        start("modhub_sync", **{f"modhub_sync__{name}": value})
    assert KEY[4:] not in str(refused.value)


@pytest.mark.parametrize("lost", [hide_mod, delete_mod])
def test_a_deleted_mod_makes_a_new_snapshot_and_ends_the_old_ones(site, lost):
    # C-SYNC-14
    mod = published_mod(site)
    other = published_mod(site)
    first = make(site)
    assert not make_if_due(site)
    edit_mod(site, other, title="Another")
    assert not make_if_due(site)
    lost(site, mod)
    assert make_if_due(site)
    second = site.get(POINTER).json
    assert second["serial"] == 4
    assert [line["guid"] for line in lines(site, second)] == [other["guid"]]
    site.get(first["url"], status=404)
    assert not make_if_due(site)
    # The file is swept like any other.
    maintenance.sweep(site.databases, admin.Admin(site.config).store, 0)
    assert len([path for path in stored_files(site) if path.read_bytes()[:2] == b"\x1f\x8b"]) == 1


def test_the_command_that_hides_moves_the_pointer_at_once(site, run_admin):
    # C-SYNC-14
    mod, other = published_mod(site), published_mod(site)
    assert run_admin(site, "mod", "hide", mod["id"])[0] == 0
    site.get(POINTER, status=404)
    published_mod(site)
    first = make(site)
    assert run_admin(site, "mod", "hide", other["id"])[0] == 0
    assert other["guid"] not in {line["guid"] for line in lines(site, site.get(POINTER).json)}
    site.get(first["url"], status=404)


@pytest.mark.postgres
def test_ten_minutes_after_a_deletion_no_snapshot_shows_the_mod(site):
    # C-SYNC-14
    mod = published_mod(site)
    pointer = make(site)
    hide_mod(site, mod)
    age_changes(site, 9)
    site.get(pointer["url"], status=200)
    age_changes(site, 11)
    site.get(pointer["url"], status=404)
    site.get(POINTER, status=404)
    restore_mod(site, mod)
    age_changes(site, 11)
    assert site.get(POINTER).json == pointer


@pytest.mark.postgres
def test_old_snapshots_are_deleted(site):
    urls = []
    for _ in range(4):
        published_mod(site)
        urls.append(make(site)["url"])
    assert [site.get(url, status="*").status_int for url in urls] == [404, 404, 200, 200]


@pytest.mark.postgres
def test_the_schedule_makes_one_each_n_hours_if_anything_changed(site):
    # C-SYNC-12
    published_mod(site)
    assert not make_if_due(site, 0)
    assert make_if_due(site, 6)
    published_mod(site)
    assert not make_if_due(site, 6)
    write(site, update(Snapshot).values(made_at=now() - timedelta(hours=5, minutes=59)))
    assert not make_if_due(site, 6)
    write(site, update(Snapshot).values(made_at=now() - timedelta(hours=6)))
    assert not make_if_due(site, 0)
    assert make_if_due(site, 6)
    write(site, update(Snapshot).values(made_at=now() - timedelta(hours=6)))
    assert not make_if_due(site, 6)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_machine_whose_clock_is_ahead_makes_none_too_soon(site):
    # C-SYNC-12
    published_mod(site)
    with on_a_machine_that_is_ahead():
        assert make_if_due(site, 6)
    published_mod(site)
    assert not make_if_due(site, 6)


@pytest.mark.postgres
def test_one_process_makes_it(site, start, monkeypatch):
    published_mod(site)
    url, hours = site.registry.settings["sqlalchemy.url"], {"modhub_sync__snapshot_hours": "1"}
    sites = [start(f"{TEST_ACCOUNTS} modhub_builds modhub_sync", url=url, **hours) for _ in range(3)]
    make, made = SnapshotMaker.make, list[int]()
    monkeypatch.setattr(SnapshotMaker, "make", lambda *arguments: made.append(1) or make(*arguments))
    at_once([partial(run_worker, app.registry, "snapshots") for app in sites])
    assert made == [1]


@pytest.mark.postgres
def test_a_mod_that_changes_while_pages_are_read_is_in_the_changes(site, monkeypatch):
    # C-SYNC-12
    mods = [published_mod(site, title=f"mod {number}") for number in range(6)]
    monkeypatch.setattr(limits, "SNAPSHOT_PAGE", 2)
    maker = SnapshotMaker(site.registry)
    pages = type(maker.mods).get_page
    acts = [lambda: edit_mod(site, mods[5], title="changed")]

    def page(*arguments):
        listed = pages(*arguments)
        if acts:
            acts.pop(0)()
        return listed

    monkeypatch.setattr(type(maker.mods), "get_page", page)
    pointer = make(site)
    known = {line["guid"]: line["title"] for line in lines(site, pointer)}
    assert mods[5]["guid"] not in known
    for gone in (mods[0], mods[4]):
        delete_mod(site, gone)
    changes = site.get(f"/api/modhub/changes?since={pointer['serial']}").json["changes"]
    for entry in changes:
        if entry["what"] == "deleted":
            known.pop(entry["guid"], None)
        else:
            known[entry["guid"]] = site.get(f"/api/modhub/{entry['id']}").json["title"]
    assert known == {mod["guid"]: mod["title"] for mod in site.get("/api/modhub").json["mods"]}


def fail_over(site, mod):
    """The serial of the snapshot would be one of the lost future."""
    delete_mod(site, mod)
    with site.databases.write_session.begin() as session:
        start_new_feed(session)


@pytest.mark.postgres
@pytest.mark.parametrize("happens", [hide_mod, fail_over])
def test_a_snapshot_is_made_again_if_meanwhile_a_mod_is_hidden_or_the_feed_ends(site, monkeypatch, happens):
    # C-SYNC-6, C-SYNC-12, C-SYNC-14
    mods = [published_mod(site) for _ in range(2)]
    write, written = SnapshotMaker._write, []

    def write_before(maker, file, beat):
        written.append(write(maker, file, beat))
        if len(written) == 1:
            happens(site, mods[0])
        return written[-1]

    monkeypatch.setattr(SnapshotMaker, "_write", write_before)
    pointer = make(site)
    assert [line["id"] for line in lines(site, pointer)] == [mods[1]["id"]]
    assert pointer["serial"] == 3
    assert len(written) == 2
    assert len(stored_files(site)) == 1 + len(mods)
