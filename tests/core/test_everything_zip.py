"""``/Modhub/{id}/everything.zip``: a mod and all that it requires as one archive."""

import io
import json
import os
import socket
import time
import uuid
import zipfile
from functools import partial
from itertools import pairwise
from urllib.parse import quote

import pytest

from modhub.base.errors import ApiError
from modhub.blobs import BlobStore
from modhub.catalogue.reading import chain_archives
from modhub.catalogue.reading.chain_archives import ArchiveTurns, read_archive
from modhub.catalogue.reading.service import CatalogueReader
from modhub.plugins.events import DownloadStarted
from modhub.web.zip_files import ZipBody, ZipMember, zip_size
from modhub_testing import count_open_files, stored_files
from modhub_testing.mods import hide_mod, insert_mods, new_mod, published_mod, upload_asset
from modhub_testing.pages import messages_on
from modhub_testing.running_server import RawClient, running
from tests.owning import delete_mod

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
MB = 1024 * 1024


def address(mod):
    return f"/Modhub/{mod['id']}/everything.zip"


def chain(site, *codes, names=()):
    """Mods of which each requires the one before it."""
    mods = []
    for number, code in enumerate(codes):
        mod = published_mod(site, title=f"Mod {number}", requires=[mods[-1]["guid"]] if mods else [])
        name = names[number] if names else f"mod-{number}.zip"
        upload_asset(site, mod, "code", code, version="2", name=name)
        mods.append(mod)
    return mods


@pytest.fixture
def archive(site):
    """A mod that requires another one."""
    return read_archive(site.find_service(CatalogueReader), chain(site, b"first", b"second")[-1]["id"])


def unpacked(content):
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert archive.testzip() is None
    return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.postgres
def test_the_archive_has_the_chain_in_order_with_an_index(site):
    # C-PAGE-60, C-PAGE-61, C-PAGE-62
    codes = (b"first", b"second" * 50_000, b"3")
    mods = chain(site, *codes, names=("kit.zip", "con.zip", "Über: alles?.zip"))
    response = site.get(address(mods[-1]))
    members = unpacked(response.body)
    names = ["01-kit.zip", "02-_con.zip", "03-Über_ alles_.zip"]
    assert list(members) == ["index.json", *names]
    assert [members[name] for name in names] == [*codes]
    listed = json.loads(members["index.json"])["mods"]
    assert [(entry["title"], entry["version"]) for entry in listed] == [(mod["title"], "2") for mod in mods]
    assert response.headers["Content-Disposition"] == 'attachment; filename="Mod 2.zip"'
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    # The tag is that of all versions.
    upload_asset(site, mods[0], "code", codes[0], version="3", name="kit.zip")
    site.get(address(mods[-1]), headers={"If-None-Match": response.headers["ETag"]}, status=200)


def test_from_a_hundred_mods_on_names_have_three_digits(archive):
    # C-PAGE-61, C-PAGE-62
    many = chain_archives.ChainArchive(archive.files * 50)
    assert [entry.name for entry in many.entries][::99] == ["001-mod-0.zip", "100-mod-1.zip"]
    assert len({entry.name for entry in many.entries}) == 100


def test_a_chain_with_a_gap_is_a_page_that_says_how_many(site):
    # C-PAGE-62
    kit = published_mod(site, title="Kit")
    draft = new_mod(site, title="Draft")
    mod = published_mod(site, requires=[kit["guid"], ABSENT, draft["guid"]])
    response = site.get(address(mod), status=409)
    assert messages_on(response) == ["required_mods_missing"]
    assert "not on this site: 2." in response.text
    back = response.html.select_one(".refusal a.button")
    assert (back["href"], back.text) == (f"{mod['url']}#install", "Back to the mod")
    assert site.get(mod["url"]).html.select_one("#install")
    hide_mod(site, kit)
    assert "not on this site: 3." in site.get(address(mod), status=409)
    assert "everything.zip" not in site.get(mod["url"])


def test_a_chain_that_is_too_long_or_too_large_is_a_page_with_the_number(site, monkeypatch):
    # C-PAGE-62
    guids = [str(uuid.uuid4()) for _ in range(201)]
    ids = insert_mods(site, [{"guid": guid, "requires": [needed]} for guid, needed in pairwise([*guids, ABSENT])])
    response = site.get(f"/Modhub/{ids[0]}/everything.zip", status=409)
    assert messages_on(response) == ["too_many_mods"]
    assert "201 mods, and one zip has at most 200." in response.text
    mods = chain(site, b"x" * MB, b"y")
    monkeypatch.setattr(chain_archives, "MAX_ARCHIVE_BYTES", MB)
    response = site.get(address(mods[-1]), status=409)
    assert messages_on(response) == ["archive_too_large"]
    assert "2 MB, and one zip has at most 1 MB." in response.text


def test_a_download_of_the_mod_that_was_asked_for(start):
    # C-PAGE-60, C-DL-1
    site = start("modhub_testing.accounts")
    mods = chain(site, b"one", b"two!")
    heard = []
    site.registry.registerHandler(heard.append, (DownloadStarted,))
    etag = site.get(address(mods[-1])).headers["ETag"]
    (event,) = heard
    assert (event.mod_id, event.version, event.status, event.first_byte) == (mods[-1]["id"], "2", 200, 0)
    assert (event.length, event.size) == (4, 4)
    site.head(address(mods[-1]))
    site.get(address(mods[-1]), headers={"If-None-Match": etag}, status=304)
    assert len(heard) == 1


class SlowReader:
    """A client that has read the head of an archive and nothing else."""

    def __init__(self, service, path):
        self.client = RawClient(service, buffer=4096)
        self.client.send(f"GET {quote(path)} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        self.began = self.client.socket.recv(3000)
        assert self.began.startswith(b"HTTP/1.1 200")

    def rest(self):
        """The body, as far as it comes."""
        self.client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MB)
        content = bytearray(self.began.partition(b"\r\n\r\n")[2])
        try:
            while piece := self.client.socket.recv(MB):
                content += piece
                if content[-22:-18] == b"PK\x05\x06":
                    break
        except ConnectionError:
            pass
        return bytes(content)


def folder_of(site):
    return stored_files(site)[0].parents[1]


@pytest.mark.process
def test_a_slow_reader_gets_the_old_bytes_and_one_archive_at_a_time(site):
    # C-PAGE-62, C-FILE-8
    codes = (b"a" * 3 * MB, b"b" * 9 * MB)
    mods = chain(site, *codes)
    folder = folder_of(site)
    with running(site.app, threads=1) as service:
        slow = SlowReader(service, address(mods[-1]))
        assert count_open_files(folder) <= 1
        with RawClient(service) as other:
            again = other.ask(f"GET {address(mods[-1])} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert (again.status, again.fields["retry-after"]) == (503, "10")
            assert b'data-message="busy"' in again.body
            # No thread is held, and heads are answered meanwhile.
            other.send(f"HEAD {address(mods[-1])} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert other.answer("HEAD").status == 200
        upload_asset(site, mods[0], "code", b"new", version="3", name="new.zip")
        delete_mod(site, mods[-1])
        members = unpacked(slow.rest())
        assert [members["01-mod-0.zip"], members["02-mod-1.zip"]] == [*codes]
        slow.client.__exit__()
        assert open_in_the_end(folder) == 0


def open_in_the_end(folder):
    deadline = time.monotonic() + 20
    while count_open_files(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return count_open_files(folder)


@pytest.mark.process
@pytest.mark.parametrize("change", ["cut short", "changed"])
def test_a_fault_of_the_store_ends_the_connection(site, caplog, change):
    # C-PAGE-62
    mods = chain(site, b"a" * 9 * MB, b"b" * 9 * MB)
    folder = folder_of(site)
    with running(site.app) as service:
        slow = SlowReader(service, address(mods[-1]))
        for path in stored_files(site):
            if change == "cut short":
                os.truncate(path, 100)
            elif path.read_bytes()[:1] == b"b":  # which is not due yet
                path.write_bytes(b"B" * 9 * MB)
        content = slow.rest()
        assert not zipfile.is_zipfile(io.BytesIO(content))
        assert b"b" * 100 not in content
        assert b"B" * 100 not in content
        slow.client.__exit__()
        assert open_in_the_end(folder) == 0
    assert any("its response could not be sent" in record.getMessage() for record in caplog.records)


def test_a_file_that_cannot_be_opened_is_a_503_and_leaves_nothing_open(site):
    # C-PAGE-62
    mods = chain(site, b"first", b"second")
    folder = folder_of(site)
    damaged = next(path for path in stored_files(site) if path.read_bytes() == b"second")
    damaged.write_bytes(b"SECOND")
    for _ in range(3):  # the turn was given back, too
        assert messages_on(site.get(address(mods[-1]), status=503)) == ["storage_unreachable"]
    assert count_open_files(folder) == 0


class Remote(io.BytesIO):
    """A file of another machine: it is fetched before it is sent."""

    def fetch(self, start, stop):
        return io.BytesIO(self.getvalue()[start:stop])

    def read(self, *_):
        raise AssertionError("the server's loop would wait for another machine")


class RemoteStore:
    def __init__(self, store):
        self.store = store

    def open(self, *names):
        with self.store.open(*names) as file:
            return Remote(file.read())


def test_files_of_another_machine_are_fetched_first(site, archive, monkeypatch):
    # C-PAGE-62, T-D21
    store = RemoteStore(site.find_service(BlobStore))
    monkeypatch.setattr(chain_archives, "MAX_FETCHED", 3)
    turns = ArchiveTurns()
    with turns.open("a peer", archive, store) as body:
        with pytest.raises(ApiError, match="busy"):
            turns.open("another", archive, store)
        assert unpacked(body.read())["02-mod-1.zip"] == b"second"
    turns.open("another", archive, store).close()


def test_a_process_checks_so_many_archives_at_once(site, archive, monkeypatch):
    # C-PAGE-62, T-D21
    turns, store = ArchiveTurns(), site.find_service(BlobStore)
    held = [turns.open(str(peer), archive, store) for peer in range(50)]
    assert count_open_files(folder_of(site)) == 0
    del held[:]  # what nobody closes is closed when nobody has it
    monkeypatch.setattr(chain_archives, "MAX_CHECKING", 0)
    with pytest.raises(ApiError, match="busy"):
        turns.open("1", archive, store)
    monkeypatch.setattr(chain_archives, "MAX_CHECKING", 1)
    turns.open("1", archive, store).close()


def test_the_last_byte_gives_the_turn_back(site, archive):
    # C-PAGE-62
    turns, store = ArchiveTurns(), site.find_service(BlobStore)
    first = turns.open("1", archive, store)
    first.read(archive.size - 1)
    with pytest.raises(ApiError, match="busy"):
        turns.open("1", archive, store)
    first.read(1)
    assert count_open_files(folder_of(site)) == 0
    second = turns.open("1", archive, store)
    first.close()  # it ends its own turn only
    with pytest.raises(ApiError, match="busy"):
        turns.open("1", archive, store)
    second.close()


def body_of(*contents):
    members = [
        ZipMember(f"{at}.bin", len(content), partial(io.BytesIO, content)) for at, content in enumerate(contents)
    ]
    return ZipBody(members, lambda: None)


def test_a_body_is_read_again_from_where_the_last_read_began():
    whole, body = body_of(b"x" * 200_000, b"y" * 70_000).read(), body_of(b"x" * 200_000, b"y" * 70_000)
    assert zip_size([("0.bin", 200_000), ("1.bin", 70_000)]) == len(whole)
    assert (body.seek(0, 2), body.seek(0)) == (len(whole), 0)
    taken = b""
    for taken_at_once in (1, 30_000, 100_000, 0, 250_000):
        place = body.tell()
        piece = body.read(150_000)
        body.seek(place)
        taken += piece[:taken_at_once]
        body.seek(min(taken_at_once, len(piece)), 1)
        assert len(body._kept) <= 150_000 + 65_536 + 100
    assert taken + body.read() == whole
    assert body.read(1) == b""
    body.seek(0)
    with pytest.raises(OSError, match="in order"):
        body.read(1)
