"""Uploads are scanned before anything is committed; what could not be scanned is refused, or waits."""

import hashlib
import io

import pytest
from PIL import Image
from prometheus_client import REGISTRY
from sqlalchemy import select
from webtest import Upload

from modhub.base.service_registry import find_service
from modhub.blobs.models import StoredBlob
from modhub_moderation.scanning.clamd import EICAR
from modhub_moderation.scanning.inspection import MOST_AT_ONCE, Scanning
from modhub_moderation.scanning.services import ScanHit, WaitingFile
from modhub_testing.clamd import RULE, FakeClamd
from modhub_testing.mods import hide_mod, restore_mod
from modhub_testing.pages import form_at, messages_on, workshop_form
from modhub_testing.workers import run_worker
from tests.people import delete_person, register

from . import conftest
from .conftest import make_moderator

FEATURES = "modhub_auth modhub_profiles modhub_builds modhub_moderation"
MACHINE = "a-key-of-a-build-agent"
"""Scopes: builds of the app."""


@pytest.fixture(scope="module")
def listening():
    with FakeClamd(EICAR) as clamd:
        yield clamd


@pytest.fixture
def clamd(listening):
    """Up, with its usual answers; a test may close it."""
    yield listening
    listening.close()
    listening.start()
    listening.reply = None
    listening.streams.clear()


@pytest.fixture
def begin(start, clamd, monkeypatch):
    """``begin(scan_later="true")``: an application that scans, with these settings of moderation."""

    def start_with(**settings):
        named = {f"modhub_moderation__{name}": value for name, value in settings.items()}
        named |= {"modhub_moderation__scanner": clamd.url, "ApiPrivateKeys": f"{MACHINE} Modhub:app"}
        return conftest.begin(start, monkeypatch, FEATURES, **named)

    return start_with


@pytest.fixture
def site(begin):
    return begin()


@pytest.fixture
def later(begin):
    """A site that scans later what it cannot scan now."""
    return begin(scan_later="true")


def upload(person, mod, content=b"clean", *, kind="code?version=1", status=201):
    return person.call("post", f"/api/modhub/{mod}/{kind}", params=content, status=status)


def author(site):
    """Ada, and the number of a draft of hers."""
    ada = register(site, "Ada")
    return ada, ada.draft()["id"]


def publish(person, mod, status=200):
    return person.call("post", f"/api/modhub/{mod}/publish", status=status).json


def hits(site):
    columns = (ScanHit.account_id, ScanHit.mod_id, ScanHit.rule, ScanHit.times)
    with site.databases.readonly_session() as session:
        return [tuple(row) for row in session.execute(select(*columns).order_by(ScanHit.id))]


def picture(color="teal"):
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    return file.getvalue()


def test_what_is_clean_is_stored_as_it_was_scanned(site, clamd):
    # C-SCN-1
    ada, mod = author(site)
    content = bytes(range(256)) * 3000
    upload(ada, mod, content)
    assert clamd.streams == [content]
    publish(ada, mod)
    assert site.get(f"/api/modhub/{mod}/download").body == content


@pytest.mark.parametrize("kind", ["code?version=1", "css", "images"])
def test_what_is_found_is_refused_and_nothing_is_kept(site, kind):
    # C-SCN-1, C-SCN-2, T-A11
    ada, mod = author(site)
    for _ in range(2):
        refused = upload(ada, mod, b"x" * 100_000 + EICAR + b"x" * 100_000, kind=kind, status=400).json
    assert refused["error"] == "rejected_by_scan"
    assert RULE not in str(refused)
    assert site.count_rows(StoredBlob) == 0
    assert hits(site) == [(ada.id, mod, RULE, 2)]


def test_forms_are_scanned_and_say_it_beside_the_file(site):
    # C-SCN-1, C-SCN-2
    ada, mod = author(site)
    path = f"/Modhub/mine/{mod}/code"
    form = workshop_form(ada.pages, path)
    form["version"], form["file"] = "1", Upload("mod.zip", b"x" + EICAR)
    page = form.submit(status=400)
    assert "malware scanner" in page
    assert RULE not in page
    assert site.count_rows(StoredBlob) == 0


def test_pictures_of_profiles_are_scanned(site, clamd):
    # C-SCN-1
    ada = register(site, "Ada")
    clamd.reply = f"stream: {RULE} FOUND"
    form = form_at(ada.pages.get("/Modhub/profile"), "/Modhub/profile/picture")
    form["file"] = Upload("me.png", picture())
    assert "malware scanner" in form.submit(status=400)
    assert hits(site) == [(ada.id, None, RULE, 1)]


def test_builds_of_the_app_are_not_scanned(site, clamd):
    # C-SCN-1
    clamd.close()
    site.post("/api/modhub/app/linux?version=1", EICAR, headers={"X-Api-Key": MACHINE}, status=201)
    assert clamd.streams == []


def test_a_scanner_that_gives_no_verdict_is_busy(site, clamd):
    # C-SCN-3, T-F12
    """It hangs up, refuses, says something else, names no rule, is closed."""
    ada, mod = author(site)
    readable = ada.publish("Readable")
    kept = site.count_rows(StoredBlob)
    for reply in ("", "INSTREAM size limit exceeded. ERROR", "OK", "stream:  FOUND", None):
        clamd.reply = reply
        if reply is None:
            clamd.close()
        refused = upload(ada, mod, status=503)
        assert refused.json["error"] == "busy"
        assert int(refused.headers["Retry-After"]) >= 1
    assert (site.count_rows(StoredBlob), site.count_rows(WaitingFile)) == (kept, 0)
    # Readers do not need it.
    site.get(f"/api/modhub/{readable['id']}/download", status=200)
    site.get("/readyz", status=200)


def test_a_scanner_that_hangs_takes_no_more_threads_than_its_share(site):
    # C-SCN-3, T-F12
    ada, mod = author(site)
    slots = find_service(site.registry, Scanning).slots
    for _ in range(MOST_AT_ONCE):
        assert slots.acquire(blocking=False)
    assert upload(ada, mod, status=503).json["error"] == "busy"
    slots.release(MOST_AT_ONCE)
    for content in (b"clean", EICAR):
        upload(ada, mod, content, kind="css", status=400 if content == EICAR else 201)
    # Each gave its slot back, once.
    with pytest.raises(ValueError, match="released too many"):
        slots.release()


def test_a_draft_waits_for_the_scanner_and_is_published_after_it(later, clamd):
    # C-SCN-4
    ada, mod = author(later)
    clamd.close()
    upload(ada, mod)
    upload(ada, mod, picture(), kind="images")
    assert publish(ada, mod, 409)["error"] == "not_scanned"
    assert "not-scanned" in messages_on(ada.pages.get(f"/Modhub/mine/{mod}"))
    # It can be hidden and released all the same.
    hide_mod(later, {"id": mod})
    restore_mod(later, {"id": mod})
    assert run_worker(later.registry, "later scans") is False
    assert publish(ada, mod, 409)["error"] == "not_scanned"
    clamd.start()
    assert run_worker(later.registry, "later scans") is True
    assert sorted(clamd.streams) == sorted([b"clean", picture()])
    assert later.count_rows(WaitingFile) == 0
    assert publish(ada, mod)["published"] is True


@pytest.mark.postgres
def test_what_is_found_later_has_to_be_replaced(later, clamd):
    # C-SCN-4
    ada, mod = author(later)
    clamd.close()
    upload(ada, mod, EICAR)
    clamd.start()
    for _ in range(2):
        assert run_worker(later.registry, "later scans") is True
    assert hits(later) == [(ada.id, mod, RULE, 1)]
    assert publish(ada, mod, 409)["error"] == "rejected_by_scan"
    page = ada.pages.get(f"/Modhub/mine/{mod}")
    assert "found" in messages_on(page)
    assert RULE not in page
    upload(ada, mod, b"clean", kind="code?version=2")
    publish(ada, mod)


def test_nothing_unscanned_comes_to_a_mod_that_is_or_may_be_visible(later, clamd):
    # C-SCN-4
    ada, mod = author(later)
    upload(ada, mod)
    publish(ada, mod)
    clamd.close()
    for kind in ("code?version=2", "css", "images"):
        assert upload(ada, mod, picture(), kind=kind, status=503).json["error"] == "busy"
    hide_mod(later, {"id": mod})
    assert upload(ada, mod, kind="code?version=2", status=503).json["error"] == "busy"
    assert (later.count_rows(WaitingFile), later.count_rows(StoredBlob)) == (0, 1)


@pytest.mark.postgres
def test_a_deleted_mod_and_account_leave_a_hit_without_them(later, clamd):
    # C-SCN-2
    ada, mod = author(later)
    other = ada.draft()["id"]
    upload(ada, mod, EICAR, status=400)
    clamd.close()
    upload(ada, other)
    ada.call("delete", f"/api/modhub/{other}", status=204)
    assert later.count_rows(WaitingFile) == 0
    assert hits(later) == [(ada.id, mod, RULE, 1)]
    ada.call("delete", f"/api/modhub/{mod}", status=204)
    assert hits(later) == [(ada.id, None, RULE, 1)]
    delete_person(later, ada.id)
    assert hits(later) == [(None, None, RULE, 1)]


def test_moderators_see_the_rule(site):
    # C-SCN-2; nobody else: test_moderators.py
    ada, mod = author(site)
    upload(ada, mod, EICAR, status=400)
    page = make_moderator(site, "Mo").pages.get("/Modhub/moderation/scans")
    for words in (RULE, hashlib.sha256(EICAR).hexdigest(), "Ada"):
        assert words in page


def test_a_scanner_that_is_down_is_noticed_before_uploads_are_refused(site, clamd):
    # C-SCN-3
    states = []
    for change in (clamd.start, clamd.close, clamd.start):
        if states:
            change()
        run_worker(site.registry, "scanner")
        states.append(REGISTRY.get_sample_value("modhub_scanner_down"))
    assert states == [0, 1, 0]
