"""Concurrent calls over two applications and one database."""

import hashlib
import os
from collections import Counter
from functools import partial

import pytest
from sqlalchemy import select

from modhub.admin.program import Admin
from modhub.blobs import BlobStore, maintenance
from modhub.blobs.models import StoredBlob
from modhub.catalogue import copies
from modhub.catalogue.commands import add_game, remove_game
from modhub.catalogue.models import PublicGame, PublicMod, PublicRequirement, PublicText
from modhub.catalogue.moderating import hiding
from modhub_testing import stored_files
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    mod_address,
    new_mod,
    notes_of_mod,
    publish_test_mod,
    published_mod,
    upload_asset,
)
from tests.people import read
from tests.races import at_once

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.usefixtures("patience")]

MB = 1024 * 1024
AT_ONCE = 8
GUID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def sites(start):
    """Two applications over one database and one file store."""
    first = start()
    return first, start(url=str(first.registry.settings["sqlalchemy.url"]))


def together(sites, acts):
    """The answers of all ``acts``, begun at one moment, every other one on the second application."""
    return at_once([partial(act, sites[at % 2].as_account(OWNER)) for at, act in enumerate(acts)])


def all_is_well(site):
    """Copies and files are true, and after a sweep exactly the files that rows name are left."""
    databases, store = site.databases, site.find_service(BlobStore)
    with databases.write_session.begin() as session:
        assert list(copies.public_copy_damage(session)) == []
        assert list(maintenance.blob_damage(session, store)) == []
    maintenance.sweep(databases, store, 0)
    with databases.readonly_session() as session:
        keys = set(session.scalars(select(StoredBlob.key)))
        assert list(maintenance.blob_damage(session, store)) == []
    assert {path.parent.name + path.name for path in stored_files(site)} == keys


def post(mod, rest, body):
    return lambda site: site.post(mod_address(mod, rest), body, expect_errors=True)


def put(mod, body):
    return lambda site: site.put_json(mod_address(mod), body, expect_errors=True)


def delete(mod):
    return lambda site: site.delete(mod_address(mod), expect_errors=True)


def statuses(answers):
    return Counter(answer.status_int for answer in answers)


def test_of_eight_edits_of_one_state_one_is_made(sites):
    # C-OWN-30
    mod = published_mod(sites[0])
    headers = {"If-Match": f'"{mod["updatedAt"]}"'}

    def act(title):
        return lambda site: site.put_json(mod_address(mod), {"title": title}, headers=headers, expect_errors=True)

    answers = together(sites, [act(f"title {at}") for at in range(AT_ONCE)])
    assert statuses(answers) == {200: 1, 412: 7}
    (made,) = (answer.json["title"] for answer in answers if answer.status_int == 200)
    assert sites[0].get(mod_address(mod)).json["title"] == made


def test_of_eight_calls_with_one_key_one_creates(sites):
    # C-OWN-31
    headers, owner = {"Idempotency-Key": "k"}, sites[0].as_account(OWNER)

    def create(site):
        return site.post_json("/api/modhub", {"title": "x"}, headers=headers, expect_errors=True)

    def check(answers):
        assert statuses(answers) == {201: AT_ONCE}
        assert len({answer.body for answer in answers}) == 1

    check(together(sites, [create] * AT_ONCE))
    (mod,) = owner.get("/api/modhub/mine").json["mods"]
    assert create(owner).json == mod

    def add_image(site):
        return site.post(mod_address(mod, "images"), b"image", headers=headers, expect_errors=True)

    check(together(sites, [add_image] * AT_ONCE))
    assert len(add_image(owner).json["assets"]) == 1
    all_is_well(sites[0])
    assert len(stored_files(sites[0])) == 1


def test_of_eight_uploads_of_one_version_one_is_taken(sites):
    # C-UP-4, T-E1
    mod = published_mod(sites[0])
    for at, version in enumerate("234", 2):
        contents = [os.urandom(300_000 + number) for number in range(AT_ONCE)]
        answers = together(sites, [post(mod, f"code?version={version}", content) for content in contents])
        assert statuses(answers) == {201: 1, 409: 7}
        assert len(stored_files(sites[0])) == at, "what was refused is not kept"
        won = contents[[answer.status_int for answer in answers].index(201)]
        assert sites[1].get(mod_address(mod, "download")).body == won
        told = {"version": version, "bytes": len(won), "sha256": hashlib.sha256(won).hexdigest()}
        assert all(answer.json.items() >= told.items() for answer in answers if answer.status_int == 409)
    assert [note["title"] for note in notes_of_mod(sites[1], mod)] == ["4", "3", "2", "1"]
    all_is_well(sites[0])


def test_at_every_read_version_and_bytes_are_of_one_upload(sites):
    # T-E1
    mod, contents = published_mod(sites[0]), {f"v{at}": os.urandom(200_000 + at) for at in range(16)}
    names = list(contents)
    contents["1"] = sites[0].get(mod_address(mod, "download")).body

    def read(site):
        for _ in range(30):
            before = site.get(mod_address(mod)).json
            download = site.get(mod_address(mod, "download"))
            after = site.get(mod_address(mod)).json
            assert before["assets"][0]["bytes"] == len(contents[before["version"]])
            assert download.headers["ETag"] == f'"{hashlib.sha256(download.body).hexdigest()}"'
            assert download.body in contents.values()
            if before == after:
                assert download.body == contents[before["version"]]

    def upload(at, site):
        return [upload_asset(site, mod, "code", contents[name], version=name) for name in names[at::6]]

    together(sites, [read, read, *(partial(upload, at) for at in range(6))])
    assert len(notes_of_mod(sites[1], mod)) == 17
    all_is_well(sites[0])


def test_images_never_pass_their_sum(sites):
    # T-E3
    mod = published_mod(sites[0])
    for _ in range(4):
        upload_asset(sites[0], mod, "images", bytes(2 * MB))
    answers = together(sites, [post(mod, "images", bytes(2 * MB)) for _ in range(AT_ONCE)])
    assert statuses(answers) == {201: 1, 413: 7}
    assert {answer.json["limitBytes"] for answer in answers if answer.status_int == 413} == {10 * MB}
    images = [asset for asset in sites[0].get(mod_address(mod)).json["assets"] if asset["kind"] == "image"]
    assert sum(asset["bytes"] for asset in images) == 10 * MB
    all_is_well(sites[0])


def test_one_guid_never_comes_into_both_lists(sites):
    # C-OWN-4, T-E6
    for _ in range(5):
        mod = new_mod(sites[0])
        sent = [{"requires": [GUID]}, {"conflictsWith": [GUID]}] * 2
        answers = together(sites, [put(mod, body) for body in sent])
        assert set(statuses(answers)) == {200, 400}
        kept = next(
            entry
            for entry in sites[0].as_account(OWNER).get("/api/modhub/mine").json["mods"]
            if entry["id"] == mod["id"]
        )
        assert sorted([kept["requires"], kept["conflictsWith"]]) == [[], [GUID]]


def try_to_hide(site, mod):
    with site.databases.write_session.begin() as session:
        hiding.hide_mods(session, [*hiding.lock_mods(session, [mod["id"]]).values()])


def test_whatever_meets_a_delete_is_done_or_refused_as_if_it_came_after(sites):
    # T-E4
    for published in (False, True, True):
        mod = new_mod(sites[0])
        upload_asset(sites[0], mod, "code", version="1")
        if published:
            publish_test_mod(sites[0], mod)
        acts = [
            post(mod, "publish", b""),
            post(mod, "code?version=2", b"two"),
            post(mod, "images", b"image"),
            put(mod, {"title": "new"}),
            delete(mod),
            post(mod, "css", b"css"),
            delete(mod),
            lambda site, mod=mod: try_to_hide(site, mod),
        ]
        answers = [answer for answer in together(sites, acts) if answer is not None]
        assert set(statuses(answers)) <= {200, 201, 204, 401}
        assert statuses(answers)[204] == 1
        sites[1].get(mod_address(mod), status=404)
        assert sites[0].as_account(OWNER).get("/api/modhub/mine").json["count"] == 0
        assert sites[0].get("/api/modhub").json["total"] == 0
    all_is_well(sites[0])
    assert stored_files(sites[0]) == []


def test_votes_are_counted_once_each(sites):
    mod = published_mod(sites[0])
    url = mod_address(mod, "vote")
    acts = [
        lambda site, at=at: site.as_account(20 + at % 4).put_json(url, {"value": 1 if at < 6 else -1})
        for at in range(12)
    ]
    answers = together(sites, acts)
    assert statuses(answers) == {200: 12}
    own = [sites[0].as_account(20 + at).get(url).json for at in range(4)]
    values = [votes["value"] for votes in own]
    assert sites[1].get(url).json == {"ups": values.count(1), "downs": values.count(-1)}
    all_is_well(sites[0])


def test_maintenance_beside_everything_takes_nothing_and_finds_nothing(sites):
    mods = [published_mod(sites[0], title=f"mod {at}") for at in range(4)]
    damage = []

    def sweep(site):
        for _ in range(5):
            maintenance.sweep(site.databases, site.find_service(BlobStore), 0)

    def verify(site):
        for _ in range(5):
            with site.databases.readonly_session() as session:
                damage.extend(copies.public_copy_damage(session))
                damage.extend(maintenance.blob_damage(session, site.find_service(BlobStore)))

    def rebuild(site):
        copies.rebuild_copies(site.databases.write_session.begin)

    calls = [post(mods[at % 3], f"code?version=v{at}", bytes(1000 + at)) for at in range(6)]
    calls += [put(mods[at], {"title": "new", "games": ["Portal"]}) for at in range(4)]
    calls += [delete(mods[3]), lambda site: site.as_account(8).put_json(mod_address(mods[0], "vote"), {"value": 1})]
    answers = together(sites, [*calls, sweep, verify, rebuild, rebuild, sweep])
    # A sweep of age 0 may take what is staged: then the upload is refused as a whole.
    assert set(statuses([answer for answer in answers if answer is not None])) <= {200, 201, 204, 401, 502}
    assert damage == []
    assert sites[0].get("/api/modhub").json["total"] == 3
    all_is_well(sites[0])


def test_publishing_many_at_once_counts_them_all(sites):
    mods = [new_mod(sites[0], title=f"mod {at}") for at in range(AT_ONCE)]
    for mod in mods:
        upload_asset(sites[0], mod, "code", version="1")
    assert statuses(together(sites, [post(mod, "publish", b"") for mod in mods])) == {200: 8}
    assert sites[1].get("/api/modhub").json["total"] == AT_ONCE
    assert sites[1].get("/api/modhub?q=mod").json["total"] == AT_ONCE
    all_is_well(sites[0])
    together(sites, [delete(mod) for mod in mods])
    assert sites[1].get("/api/modhub").json["total"] == 0
    all_is_well(sites[0])


def hide(mod):
    return lambda site: hide_mod(site, mod, "a reason")


def nobody_sees(site, mod):
    """No public copy is left, and none comes from the owner's next change."""
    for _ in range(2):
        for copy in (PublicMod.id, PublicText.mod_id, PublicGame.mod_id, PublicRequirement.mod_id):
            assert read(site, select(copy).where(copy == mod["id"])) == []
        site.get(mod_address(mod), status=404)
        site.get(mod_address(mod, "download"), status=404)
        site.as_account(OWNER).put_json(mod_address(mod), {"games": ["Quake"]}, status=200)


def test_whatever_meets_a_hiding_the_mod_is_hidden_in_the_end(sites):
    for published in (False, True, True, False):
        mod = new_mod(sites[0], games=["Portal"], requires=[GUID])
        upload_asset(sites[0], mod, "code", version="1")
        if published:
            publish_test_mod(sites[0], mod)
        acts = [
            post(mod, "publish", b""),
            hide(mod),
            post(mod, "code?version=2", b"two"),
            post(mod, "images", b"image"),
            put(mod, {"title": "new", "games": ["Half-Life"]}),
            lambda site, mod=mod: site.as_account(8).put_json(
                mod_address(mod, "vote"), {"value": 1}, expect_errors=True
            ),
            lambda site: copies.rebuild_copies(site.databases.write_session.begin),
            hide(mod),
        ]
        answers = [answer for answer in together(sites, acts) if hasattr(answer, "status_int")]
        assert set(statuses(answers)) <= {200, 201, 404}
        assert statuses(answers)[404] <= 1
        nobody_sees(sites[1], mod)
        assert sites[0].get("/api/modhub").json["total"] == 0
        all_is_well(sites[0])


def test_operators_who_change_one_curated_game_at_once_make_one(sites, tmp_path):
    # C-RUN-4
    icon = tmp_path / "icon.svg"
    icon.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    add = lambda site: add_game(Admin(site.config), "Portal", None, icon)  # noqa: E731
    remove = lambda site: remove_game(Admin(site.config), "portal")  # noqa: E731
    for _ in range(3):
        assert Counter(together(sites, [add] * AT_ONCE)) == {True: 1, False: AT_ONCE - 1}
        (game,) = sites[0].get("/api/modhub/games").json["games"]
        assert sites[1].get(game["iconUrl"]).body == icon.read_bytes()
        assert Counter(together(sites, [remove] * AT_ONCE)) == {True: 1, False: AT_ONCE - 1}
        together(sites, [add, remove] * (AT_ONCE // 2))
        remove(sites[0])
        assert sites[0].get("/api/modhub/games").json["count"] == 0
