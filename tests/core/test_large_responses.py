"""Responses with many or long mods: complete, and never in memory as a whole (T-D20)."""

import tracemalloc
import uuid
from contextlib import contextmanager

import pytest

from modhub.base.body_rules import IS_LARGE_TURN
from modhub.base.errors import ApiError
from modhub.catalogue.models import Note
from modhub.catalogue.reading.chains import PublicMods
from modhub.catalogue.reading.service import CatalogueReader
from modhub.db import now
from modhub.plugins.services import IPublicMods
from modhub.web.large_responses import LARGE, UNREAD, UNREAD_BYTES, UNREAD_BYTES_PER_PEER, UnreadBodies
from modhub.web.request import Request
from modhub.web.responses import composed_json
from modhub_testing.mods import OWNER, insert_mods, mod_address, published_mod

pytestmark = pytest.mark.slow

LONG = "a" * 32_000
"""A description, of a letter that SQLite's index of words takes in a tenth of the time of an emoji."""


def insert_chain(site, count, **fields):
    """(id of a mod, GUIDs of it and all that it requires)."""
    guids = [str(uuid.uuid4()) for _ in range(count)]
    requires = [[guid] for guid in guids[1:]] + [[]]
    mods = [
        {"guid": guid, "requires": needed, "description": LONG, **fields}
        for guid, needed in zip(guids, requires, strict=True)
    ]
    return insert_mods(site, mods)[0], guids


def ask(site, url, method="GET", **headers):
    return site._gen_request(method, url, headers=headers, expect_errors=True)


@contextmanager
def no_room(site):
    """The unread responses of others are all that may be."""
    UNREAD.add("others", UNREAD_BYTES)
    yield
    UNREAD.remove("others", UNREAD_BYTES)


def headers_of(response, *left_out):
    return {name: value for name, value in response.headers.items() if name not in {"X-Request-Id", *left_out}}


def test_a_large_chain_is_complete_in_either_coding_and_revalidated(site, monkeypatch):
    # C-READ-2, C-HTTP-1, C-HTTP-12, T-D20
    mod_id, guids = insert_chain(site, 40)
    url = f"/api/modhub/{mod_id}"
    plain = ask(site, url)
    assert len(plain.body) > LARGE
    assert plain.headers["Content-Length"] == str(len(plain.body))
    assert [mod["guid"] for mod in plain.json["install"]] == guids[::-1]
    listed = {mod["guid"]: mod for mod in site.get("/api/modhub?size=100").json["mods"]}
    assert [listed[guid] for guid in guids[::-1]] == plain.json["install"]
    zipped = ask(site, url, **{"Accept-Encoding": "gzip"})
    assert zipped.body == plain.body  # WebTest decompresses, and removes the header
    assert zipped.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
    sent = Request.blank(url, method="HEAD", headers={"Accept-Encoding": "gzip"}).send(site.app)
    assert sent.headers["Content-Encoding"] == "gzip"
    assert "Content-Length" not in sent.headers
    # For HEAD and 304 no document is read.
    monkeypatch.setattr(PublicMods, "documents", None)
    for coding, whole in (("identity", plain), ("gzip", zipped)):
        head = ask(site, url, "HEAD", **{"Accept-Encoding": coding})
        left_out = {"Content-Length"} if coding == "gzip" else set()
        assert headers_of(head, *left_out) == headers_of(whole, *left_out)
        for tag in (plain.headers["ETag"], zipped.headers["ETag"], "*"):
            unchanged = ask(site, url, **{"If-None-Match": tag, "Accept-Encoding": coding})
            assert (unchanged.status_int, unchanged.body) == (304, b"")
    monkeypatch.undo()
    assert ask(site, url, **{"If-None-Match": '"other"'}).status_int == 200


@pytest.mark.postgres
def test_a_change_while_the_body_is_made_makes_it_again(site, monkeypatch):
    mod_id, _ = insert_chain(site, 40)
    last = ask(site, f"/api/modhub/{mod_id}").json["install"][0]
    real, titles = PublicMods.documents, ["edit 0", "edit 1"]

    def edit_first(self, stored):
        if titles:
            site.as_account(OWNER).put_json(mod_address(last), {"title": titles.pop(0)})
        return real(self, stored)

    monkeypatch.setattr(PublicMods, "documents", edit_first)
    made = ask(site, f"/api/modhub/{mod_id}")
    assert made.json["install"][0]["title"] == "edit 1"
    assert made.headers["ETag"] == ask(site, f"/api/modhub/{mod_id}").headers["ETag"]
    titles += map(str, range(100))
    refused = ask(site, f"/api/modhub/{mod_id}")
    assert (refused.status_int, refused.json["error"], refused.headers["Retry-After"]) == (503, "busy", "2")


def test_a_large_body_needs_a_thread_room_and_a_disk(site, monkeypatch, caplog):
    # C-ERR-21, T-D20, T-D22, T-F2
    mod_id, guids = insert_chain(site, 60)
    url, listed = f"/api/modhub/{mod_id}", "/api/modhub?size=100"
    ordinary = {"extra_environ": {IS_LARGE_TURN: False}}
    assert site.get(url, status=102, **ordinary).body == b""
    site.post_json("/api/modhub/lookup", {"guids": guids}, status=102, **ordinary)
    site.get("/api/modhub", status=200, **ordinary)
    site.get(url, status=200, extra_environ={IS_LARGE_TURN: True})
    for _ in range(2):
        with no_room(site):
            for large in (url, listed):
                refused = ask(site, large)
                assert (refused.status_int, refused.json["error"]) == (503, "busy"), large
                assert refused.headers["Retry-After"]
                assert refused.headers["Cache-Control"] == "no-store"
                assert ask(site, large, "HEAD").status_int == 200
            assert site.post_json("/api/modhub/lookup", {"guids": guids}, status=503).json["error"] == "busy"
            for small in ("/api/modhub", f"/api/modhub/guid/{guids[-1]}"):
                assert ask(site, small).status_int == 200
        kept = ask(site, listed)
    with no_room(site):
        assert ask(site, listed, **{"If-None-Match": kept.headers["ETag"]}).status_int == 304

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("modhub.web.large_responses.tempfile.mkstemp", full)
        assert ask(site, url).json["error"] == "busy"
        assert ask(site, "/api/modhub").status_int == 200
    assert "ALARM: a response cannot be written to the temporary folder (No space left on device)" in caplog.text
    assert ask(site, url).status_int == 200


def test_room_is_by_peer_and_given_back():
    # C-ERR-21
    unread = UnreadBodies()
    unread.add("a", UNREAD_BYTES_PER_PEER + 1)  # a lone one may have any size
    with pytest.raises(ApiError):
        unread.add("a", 1)
    for size in (UNREAD_BYTES_PER_PEER - 1, 1):
        unread.add("b", size)
    unread.remove("a", UNREAD_BYTES_PER_PEER + 1)
    unread.add("a", UNREAD_BYTES - UNREAD_BYTES_PER_PEER)
    with pytest.raises(ApiError):
        unread.add("c", 1)
    unread.remove("a", UNREAD_BYTES - UNREAD_BYTES_PER_PEER)
    unread.remove("b", UNREAD_BYTES_PER_PEER)
    assert unread._bytes == {}


def add_notes(site, *entries):
    """Entries of changelogs: (mod, version, length of the text)."""
    with site.databases.write_session.begin() as session:
        for mod, version, length in entries:
            row = Note(mod_id=mod["id"], version=version, size=1, sha256="0" * 64, created_at=now())
            row.text = "x" * length
            session.add(row)


def test_a_long_changelog_is_complete(site):
    # C-READ-8, T-D20
    mod = published_mod(site, version="0")
    url = mod_address(mod, "changelog")
    add_notes(site, *((mod, str(at), 16_000) for at in range(1, 200)))
    whole = ask(site, url).json
    assert whole["count"] == 200
    assert [note["title"] or len(note["text"]) for note in whole["notes"]] == [16_000] * 199 + ["0"]
    with no_room(site):
        assert ask(site, url).status_int == 503


def test_the_entries_of_an_update_check_are_bounded(site):
    # C-SYNC-3
    mods = [published_mod(site, version="1") for _ in range(4)]
    first, second, third, _ = mods
    add_notes(site, (first, "2", 100_000), (first, "3", 100_000), (second, "2", 200_000), (second, "3", 200_000))
    add_notes(site, (third, "2", 5))
    have = [{"guid": mod["guid"], "version": "0"} for mod in mods]
    changed = site.post_json("/api/modhub/updates", {"have": have}).json["changed"]
    assert [len(mod["changelog"]) for mod in changed] == [3, 1, 0, 0]
    (alone,) = site.post_json("/api/modhub/updates", {"have": have[2:3]}).json["changed"]
    assert [entry["text"] for entry in alone["changelog"]] == ["xxxxx", ""]


@pytest.mark.postgres
def test_a_large_body_takes_little_memory(site):
    # T-D20
    mod_id, guids = insert_chain(site, 250)
    reader, mods = site.find_service(CatalogueReader), site.find_service(IPublicMods)
    request = Request.blank("/")
    request.registry = site.registry
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        response = composed_json(request, lambda: reader.mod(mod_id))
        assert response is not None
        assert response.content_length is not None
        assert response.content_length > 8_000_000
        assert tracemalloc.get_traced_memory()[1] - before < 4_000_000
        response.app_iter.close()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        mods.get_chains(guids[:1])
        assert tracemalloc.get_traced_memory()[1] - before < 4_000_000
    finally:
        tracemalloc.stop()


def test_a_lookup_answers_four_megabytes_and_names_the_rest(site):
    # C-SYNC-16
    _, guids = insert_chain(site, 140)
    absent = [str(uuid.uuid4()).upper() for _ in range(3)]
    asked = [guid.upper() if number % 2 else guid for number, guid in enumerate(guids)]
    response = site.post_json("/api/modhub/lookup", {"guids": [*asked[:70], *absent, *asked[70:]]})
    assert len(response.body) < 4_200_000
    first = response.json
    assert first["missing"] == absent
    assert first["more"] == asked[len(first["mods"]) :]
    second = site.post_json("/api/modhub/lookup", {"guids": first["more"]}).json
    assert (second["missing"], "more" in second) == ([], False)
    assert [mod["guid"] for mod in first["mods"] + second["mods"]] == guids


@pytest.fixture
def site(start):
    """With `modhub_sync`."""
    return start("modhub_testing.accounts modhub_sync")
