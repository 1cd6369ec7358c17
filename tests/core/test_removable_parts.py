"""What moderators decide about mods, through the service of features: hide, delete, remove a part and put it back."""

import hashlib
import json
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select

from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, maintenance
from modhub.blobs.models import StoredBlob
from modhub.catalogue.files import describe_mod_files
from modhub.catalogue.models import KeptFile, Mod, ReservedVersion
from modhub.catalogue.moderating import evidence
from modhub.catalogue.moderating.reads import find_whole_mod
from modhub.db import now
from modhub.db.changes import ChangeReader
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub_testing import stored_files
from modhub_testing.mods import (
    OWNER,
    copy_damage,
    mod_address,
    new_mod,
    notes_of_mod,
    published_mod,
    upload_asset,
)
from tests.owning import asset_id, delete_mod, edit_mod, own_mods, write_caption
from tests.people import actions, read

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def decide(site, method, *values):
    """Call the service in a transaction of its own."""
    with site.databases.write_session.begin() as session:
        return getattr(site.find_service(IModeration), method)(session, *values)


def of_part(method, site, mod, part, key="", *kept):
    with site.databases.write_session.begin() as session:
        return getattr(site.find_service(IModeration).parts[part], method)(session, mod["id"], str(key), *kept)


restore, discard = partial(of_part, "restore"), partial(of_part, "discard")


def remove(site, mod, part, key=""):
    """What moderation keeps: as JSON, as it stores it."""
    return json.loads(json.dumps(of_part("remove", site, mod, part, key)))


def sweep_evidence(site):
    with site.databases.write_session.begin() as session:
        return evidence.erase_old_evidence(session)


def shown(site, mod):
    """What everybody sees, without the times of change."""
    answer = site.get(mod_address(mod)).json
    return {name: value for name, value in answer.items() if name not in {"updatedAt", "install"}}


def serial(site):
    return site.find_service(ChangeReader).generation()[0]


def live_blobs(site):
    return len(read(site, select(StoredBlob.id).where(StoredBlob.trashed_at.is_(None))))


def rows(site, model):
    return read(site, select(model))


@pytest.fixture
def mod(site):
    """A published mod with two images and a description that was written as Markdown."""
    mod = published_mod(site, description="<p>Buy coins</p>")
    for name in ("first.png", "second.png"):
        mod = upload_asset(site, mod, "images", PNG + name.encode(), content_type="image/png", name=name)
    return mod


@pytest.fixture(autouse=True)
def undamaged(site):
    """Whatever a test does, the public copies and the files are right in the end."""
    yield
    assert copy_damage(site) == []
    with site.databases.readonly_session() as session:
        assert list(evidence.kept_file_damage(session)) == []
        assert list(maintenance.blob_damage(session, site.find_service(BlobStore))) == []


def assert_recorded(site, part):
    """That it was removed and put back."""
    assert {f"{part} {done} by a moderator" for done in ("removed", "restored")} <= set(actions(site))


@pytest.mark.postgres
def test_an_image_goes_at_once_and_comes_back_under_its_address(site, mod):
    # C-CAS-5, C-AUD-1, T-G6
    image = mod["assets"][1]
    number = asset_id(image)
    write_caption(site, mod, image, "Coins")
    before, body, blobs = shown(site, mod), site.get(image["url"]).body, live_blobs(site)
    first_serial = serial(site)
    kept = remove(site, mod, "image", number)
    assert len(kept["sha256"]) == 64
    assert serial(site) > first_serial
    site.get(image["url"], status=404)
    assert image not in site.get(mod_address(mod)).json["assets"]
    assert image not in own_mods(site)[0]["assets"]
    # The file is no trash: no sweep takes it, and its row says what it is.
    assert live_blobs(site) == blobs
    maintenance.sweep(site.databases, site.find_service(BlobStore), 0)
    assert remove(site, mod, "image", number) is None
    with site.databases.readonly_session() as session:
        (name,) = describe_mod_files(session, [kept["blobId"]]).values()
    assert name == f"image first.png of mod {mod['id']}, which a moderator removed"
    assert restore(site, mod, "image", number, kept)
    assert shown(site, mod) == before
    assert site.get(image["url"]).body == body
    assert rows(site, KeptFile) == []
    assert not restore(site, mod, "image", number, kept)
    assert_recorded(site, "image")


@pytest.mark.postgres
def test_a_removed_entry_keeps_its_version_and_comes_back_under_its_id(site, mod):
    # C-CAS-5, T-G6
    (note,) = notes_of_mod(site, mod)
    owner = site.as_account(OWNER)
    note = owner.put_json(mod_address(mod, "changelog", note["id"]), {"title": "News", "text": "<p>Coins</p>"}).json
    before, first_serial = site.get(mod_address(mod)).json, serial(site)
    kept = remove(site, mod, "changelog", "1")
    assert serial(site) > first_serial
    assert notes_of_mod(site, mod) == []
    assert site.get(mod_address(mod)).json["updatedAt"] == before["updatedAt"]
    owner.put_json(mod_address(mod, "changelog", note["id"]), {"text": "x"}, status=401)
    owner.delete(mod_address(mod, "changelog", note["id"]), status=401)
    refused = owner.post(mod_address(mod, "code?version=1"), b"again", status=409).json
    assert (refused["error"], refused["version"]) == ("version_used", "1")
    assert len(refused["sha256"]) == 64
    assert refused["bytes"] > 0
    upload_asset(site, mod, "code", b"two", version="2")
    assert restore(site, mod, "changelog", "1", kept)
    assert notes_of_mod(site, mod)[1] == note
    assert rows(site, ReservedVersion) == []
    assert not restore(site, mod, "changelog", "1", kept)
    assert remove(site, mod, "changelog", "3") is None
    assert_recorded(site, "changelog entry")
    # The version is the entry's again: with it, it is freed (C-NOTE-4).
    owner.delete(mod_address(mod, "changelog", note["id"]), status=204)
    upload_asset(site, mod, "code", b"again", version="1")


def test_a_description_comes_back_unless_there_is_a_new_one(site, mod):
    # C-CAS-5, T-G6
    before = shown(site, mod)
    kept = remove(site, mod, "description")
    assert site.get(mod_address(mod)).json["description"] == ""
    assert remove(site, mod, "description") is None
    assert restore(site, mod, "description", "", kept)
    assert shown(site, mod) == before
    kept = remove(site, mod, "description")
    edit_mod(site, mod, description="<p>Calm</p>")
    assert not restore(site, mod, "description", "", kept)
    assert site.get(mod_address(mod)).json["description"] == "<p>Calm</p>"
    assert_recorded(site, "description")


def test_what_is_kept_aside_ends_with_its_mod_and_when_it_is_discarded(site, mod):
    images = [asset_id(asset) for asset in mod["assets"][1:]]
    kept = [remove(site, mod, "image", image) for image in images]
    remove(site, mod, "changelog", "1")
    discard(site, mod, "image", images[0], kept[0])
    discard(site, mod, "image", images[0], kept[0])
    assert not restore(site, mod, "image", images[0], kept[0])
    assert len(rows(site, KeptFile)) == 1
    delete_mod(site, mod)
    assert (rows(site, KeptFile), rows(site, ReservedVersion), live_blobs(site)) == ([], [], 0)
    maintenance.sweep(site.databases, site.find_service(BlobStore), 0)
    assert list(stored_files(site)) == []


@pytest.mark.postgres
def test_evidence_of_a_deleted_mod_is_kept_for_its_time(site, mod, tmp_path, run_admin):
    image = asset_id(mod["assets"][1])
    kept = remove(site, mod, "image", image)
    blobs, draft = live_blobs(site), new_mod(site)
    assert decide(site, "delete", [mod["id"], 987654], now() + timedelta(days=30)) == [mod["id"]]
    site.get(mod_address(mod), status=404)
    gone, absent = (
        site.as_account(OWNER).put_json(mod_address({"id": number}), {"title": "x"}, status=401)
        for number in (mod["id"], 987654)
    )
    assert gone.body == absent.body
    assert [own["id"] for own in own_mods(site)] == [draft["id"]]
    assert (live_blobs(site), sweep_evidence(site)) == (blobs, 0) == (3, 0)
    with site.databases.readonly_session() as session:
        lookup = site.find_service(IMods)
        assert (lookup.get_mods(session, [mod["id"]]), lookup.lock(session, mod["id"])) == ({}, False)
        assert lookup.get_use(session, OWNER).mods == 1
        assert find_whole_mod(session, mod["guid"]) is None
    assert not restore(site, mod, "image", image, kept)
    discard(site, mod, "image", image, kept)
    assert run_admin(site, "evidence", mod["id"], tmp_path / "out")[0] == 0
    with pytest.raises(StartRefused, match="no evidence"):
        run_admin(site, "evidence", draft["id"], tmp_path / "none")
    with pytest.raises(StartRefused, match="cannot be made"):
        run_admin(site, "evidence", mod["id"], tmp_path / "out")
    exported = json.loads((tmp_path / "out" / "evidence.json").read_bytes())
    assert (exported["owner"], exported["mod"]["description"]) == (OWNER, "<p>Buy coins</p>")
    assert [entry["version"] for entry in exported["changelog"]] == ["1"]
    for file in exported["files"]:
        content = (tmp_path / "out" / f"{file['sha256']}.bin").read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
    assert len(exported["files"]) == 3
    with site.databases.write_session.begin() as session:
        session.get_one(Mod, mod["id"]).erase_at = now()
    assert sweep_evidence(site) == 1
    assert (rows(site, KeptFile), [row.id for row in rows(site, Mod)], live_blobs(site)) == ([], [draft["id"]], 0)
    assert decide(site, "delete", [draft["id"]]) == [draft["id"]]
    assert rows(site, Mod) == []


@pytest.mark.postgres
def test_what_was_removed_is_found_by_its_digest(site, mod):
    # Drafts, and removed images: tests/moderation/test_advisories_pages.py.
    upload_asset(site, mod, "code", b"library", version="2", name="lib.zip")
    remove(site, mod, "image", asset_id(mod["assets"][1]))
    remove(site, mod, "changelog", "1")
    former_digest = hashlib.sha256(b"code of " + mod["guid"].encode()).hexdigest()
    with site.databases.readonly_session() as session:
        digests = site.find_service(IModeration).files
        files = digests.of_mods(session, [mod["id"]])
        (former,) = digests.find(session, [former_digest])
        records = site.find_service(IModeration).get_files(session, [mod["id"], 987654])
    assert [(file.kind, file.name) for file in files] == [
        ("code", "lib.zip"),
        ("image", "second.png"),
        ("image", "first.png"),
        ("former", "1"),
    ]
    assert (former.mod_id, former.kind, former.name) == (mod["id"], "former", "1")
    assert [(file.kind, file.name, file.version, file.asset_id is None) for file in records[mod["id"]]] == [
        ("code", "lib.zip", "", False),
        ("image", "second.png", "", False),
        ("image", "first.png", "", True),
        ("code", "", "2", True),
        ("code", "", "1", True),
    ]
    assert records[987654] == []
