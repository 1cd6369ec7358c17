"""The rehearsal of a publication: chain, archive, texts; for the owner only, and nothing of a stranger's draft."""

import io
import struct
import time
import uuid
import zipfile

import pytest

from modhub.blobs import BlobStore
from modhub.catalogue.owning.archives import DIRECTORY_SECONDS, END_BYTES, find_archive_problems
from modhub.content import limits
from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.pages import new_visitor, workshop_form
from tests.core.test_refused_callers import writer
from tests.owning import edit_mod

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"


def rehearse(site, mod, owner=OWNER, status=200):
    return site.as_account(owner).post(mod_address(mod, "rehearsal"), status=status).json


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_args, **_more: None)
        for name in names:
            made.writestr(zipfile.ZipInfo(name), b"x")
    return file.getvalue()


@pytest.mark.parametrize("dialect", ["sqlite"])  # it is SQLite that has one lock for all
def test_owners_wait_for_no_writer_to_read(start):
    site = start(modhub__lock_seconds="1")
    mod, owner = new_mod(site), new_visitor(site, OWNER)
    here = f"/Modhub/mine/{mod['id']}"
    form = workshop_form(owner, f"{here}/delete")
    form["title"] = "another"
    with writer(site):
        assert rehearse(site, mod)["ready"] is False
        for address in ("/Modhub/mine", here, f"{here}/preview", f"{here}/rehearsal"):
            owner.get(address, status=200)
        form.submit(status=400)


def test_the_chain_is_as_if_published(site):
    # C-OWN-17
    base = published_mod(site, title="Base")
    deep = new_mod(site, title="A deep draft", requires=[base["guid"]])
    middle = published_mod(site, owner=8, title="Middle", requires=[deep["guid"]])
    stranger = new_mod(site, owner=8, title="A stranger's draft", requires=[base["guid"]])
    own = new_mod(site, title="My other draft", requires=[middle["guid"]])
    absent = str(uuid.uuid4())
    needed = [own["guid"].upper(), stranger["guid"], absent]
    mod = new_mod(site, title="Rehearsed", requires=needed, conflictsWith=[base["guid"]])
    upload_asset(site, mod, "code", archive("a.txt"), version="1")
    edit_mod(site, base, requires=[mod["guid"]])
    report = rehearse(site, mod)
    titles = ["Base", "A deep draft", "Middle", "My other draft", "Rehearsed"]
    assert [entry["title"] for entry in report["install"]] == titles
    assert report["missing"] == [stranger["guid"], absent]
    assert report["unpublished"] == [deep["guid"], own["guid"]]
    assert report["conflicts"] == [{"guid": mod["guid"], "conflictsWith": base["guid"]}]
    assert report["ready"] is False
    assert "stranger's draft" not in str(report)
    # Nothing has changed.
    site.get(mod_address(mod), status=404)


def test_texts_games_and_names_are_looked_at(site, author):
    # C-OWN-17
    description = '<h4>Deep</h4><p><a href="https://example.org/">here</a> <img src="/Modhub/file/1"></p>'
    long = {"title": "x" * 130, "description": description + "x" * limits.DESCRIPTION, "games": ["Portal", "x" * 130]}
    mod = new_mod(site, **long)
    upload_asset(site, mod, "code", archive("a.txt", "A.TXT", "d/../e", "C:\\f"), version="1")
    upload_asset(site, mod, "images", PNG, content_type="image/png")
    report = rehearse(site, mod)
    assert [(finding["name"], finding["problem"]) for finding in report["archive"]] == [
        ("A.TXT", "duplicate"),
        ("d/../e", "parent_folder"),
        ("C:\\f", "absolute"),
    ]
    assert report["trimmed"] == ["title", "description", "games"]
    assert report["games"] == ["Portal", "x" * limits.GAME]
    assert [(finding["field"], finding["problem"]) for finding in report["texts"]] == [
        ("description", "image_without_alt"),
        ("description", "heading_skipped"),
        ("description", "link_text"),
        ("images", "caption_missing"),
    ]
    page = author.get(f"/Modhub/mine/{mod['id']}/rehearsal")
    for shown in ("d/../e", "leads out of its folder", "not every image has a caption"):
        assert shown in page.text


def problems(content):
    return [finding.problem for finding in find_archive_problems(content[:4], content[-END_BYTES:])]


@pytest.mark.parametrize(
    ("name", "content_type", "found"),
    [
        ("a.ZIP", "text/plain", ["unreadable"]),
        ("a.lua", "text/plain", []),
    ],
)
def test_what_is_called_a_zip_has_to_be_one(site, name, content_type, found):
    # C-OWN-17
    mod = new_mod(site)
    upload_asset(site, mod, "code", b"an error page", version="1", name=name, content_type=content_type)
    assert [one["problem"] for one in rehearse(site, mod)["archive"]] == found


def test_hostile_archives_are_unreadable_at_worst():
    # C-OWN-17, T-A10
    whole = archive("a", "b")
    assert problems(whole) == []
    assert problems(b"") == problems(b"no archive at all") == []
    assert problems(whole[:-30]) == ["unreadable"]
    end = whole.rfind(b"PK\x05\x06")
    huge = whole[: end + 12] + struct.pack("<L", 2**32 - 1) + whole[end + 16 :]
    assert problems(huge) == ["unreadable"]
    directory = whole.find(b"PK\x01\x02")
    assert problems(whole[:directory] + b"XXXX" + whole[directory + 4 :]) == ["unreadable"]
    assert len(problems(archive(*(f"../{number}" for number in range(200))))) == 50


@pytest.mark.parametrize("names", [[f"{number:05}.lua" for number in range(40_000)], ["/" * 60_000 + "é"] * 60])
def test_a_huge_directory_takes_bounded_work(names):
    # C-OWN-17, T-A10
    content = archive(*names)
    began = time.thread_time()
    find_archive_problems(content[:4], content[-END_BYTES:])
    assert time.thread_time() - began < 4 * DIRECTORY_SECONDS


def test_an_archive_is_judged_when_it_is_stored(site, monkeypatch):
    # C-OWN-17
    mod = new_mod(site)
    upload_asset(site, mod, "code", bytes(6_000_000) + archive("../a.txt"), version="1")
    monkeypatch.setattr(site.find_service(BlobStore), "open", None)
    assert [entry["problem"] for entry in rehearse(site, mod)["archive"]] == ["parent_folder"]
    upload_asset(site, mod, "code", archive("a.txt"), version="2")
    report = rehearse(site, mod)
    assert report["archive"] == []
    assert report["ready"]
