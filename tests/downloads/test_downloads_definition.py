"""What counts as a download: the definition on the page, case by case."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import select

from modhub_downloads.counting import DownloadWriter
from modhub_downloads.models import DailyDownloads, DaySalt, SeenDownload, day_of
from modhub_downloads.services import CountedDownload, DownloadCounter
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod, restore_mod, upload_asset
from tests.races import at_once

from .conftest import FEATURES, total

pytestmark = pytest.mark.postgres

CASES = {
    # headers, status, downloads
    "whole": ({}, 200, 1),
    # The file has 44 bytes.
    "a tenth": ({"Range": "bytes=0-4"}, 206, 1),
    "less than a tenth": ({"Range": "bytes=0-3"}, 206, 0),
    "a suffix that is the whole": ({"Range": "bytes=-100000"}, 206, 1),
    "later range": ({"Range": "bytes=1-"}, 206, 0),
    "several ranges": ({"Range": "bytes=0-1,3-4"}, 200, 1),
    "range of another file": ({"Range": "bytes=3-", "If-Range": '"other"'}, 200, 1),
    "known": ({"If-None-Match": "*"}, 304, 0),
    "wrong file": ({"If-Match": '"other"'}, 412, 0),
    "embedded": ({"Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "same-origin"}, 403, 0),
}


def download(site, mod, caller="192.0.2.1", status=200, **headers):
    return site.get(mod_address(mod, "download"), headers=headers, status=status, extra_environ={"REMOTE_ADDR": caller})


def code_url(mod):
    return str(next(asset["url"] for asset in mod["assets"] if asset["kind"] == "code"))


@pytest.mark.parametrize("address", ["download", "file"])
def test_what_counts(site, counts, address):
    # C-DL-1
    mod = published_mod(site)
    upload_asset(site, mod, "css", b"p {}", content_type="text/css")
    mod = upload_asset(site, mod, "images", b"\x89PNG\r\n\x1a\n", content_type="image/png", name="a.png")
    for asset in mod["assets"]:
        if asset["kind"] != "code":
            site.get(asset["url"])
    url = mod_address(mod, "download") if address == "download" else code_url(mod)
    expected = 0
    for number, (name, (headers, status, downloads)) in enumerate(CASES.items()):
        caller = {"REMOTE_ADDR": f"192.0.2.{number}"}
        site.get(url, headers=headers, status=status, extra_environ=caller)
        expected += downloads
        assert counts(mod).get("1", 0) == expected, name
        site.head(url, headers=headers, status="*", extra_environ={"REMOTE_ADDR": f"198.51.100.{number}"})
    assert counts(mod) == {"1": expected}


def test_drafts_and_hidden_mods_do_not_count(site, counts):
    # C-DL-1, C-OWN-11
    draft = new_mod(site)
    upload_asset(site, draft, "code", version="1", name="a.zip")
    download(site, draft, status=404)
    mod = published_mod(site)
    download(site, mod)
    hide_mod(site, mod)
    download(site, mod, "192.0.2.2", status=404)
    assert counts(draft) == {}
    assert counts(mod) == {"1": 1}
    for closed in (draft, mod):
        assert site.get(mod_address(closed, "downloads"), status=404).json["error"] == "not_found"
    restore_mod(site, mod)
    assert total(site, mod) == 1


@pytest.mark.parametrize(
    ("first", "second", "callers"),
    [
        ("192.0.2.1", "192.0.2.2", 2),
        ("2001:db8::1", "2001:db8::ffff:0:0:2", 1),
        ("2001:db8::1", "2001:db8:0:1::1", 2),
        ("192.0.2.1", "::ffff:192.0.2.1", 1),
        ("", "", 1),
    ],
)
def test_a_caller_is_an_address_or_a_network(site, counts, first, second, callers):
    # C-DL-2
    mod = published_mod(site)
    for caller in (first, second):
        download(site, mod, caller)
    assert counts(mod) == {"1": callers}
    download(site, mod, second)
    assert counts(mod) == {"1": callers}, "also once the first ones are written"


def test_a_new_version_counts_on_its_own(site, counts):
    # C-DL-2, C-DL-4
    mod = published_mod(site)
    other = published_mod(site, title="Another mod")
    for _ in range(2):
        download(site, mod)
    upload_asset(site, mod, "code", b"new", version="1.1", name="mod.zip")
    download(site, mod)
    download(site, other)
    assert counts(mod) == {"1": 1, "1.1": 1}
    assert counts(other) == {"1": 1}
    assert site.get(mod_address(mod, "downloads")).json == {
        "total": 2,
        "versions": [{"version": "1.1", "downloads": 1}, {"version": "1", "downloads": 1}],
    }


def test_a_download_of_a_proxy_counts_as_ours(start):
    # C-DL-1
    site = start(FEATURES, modhub__accel_redirect="/_files/")
    mod = published_mod(site)
    sent = download(site, mod)
    assert sent.headers["X-Accel-Redirect"].startswith("/_files/")
    download(site, mod, "192.0.2.2", status=206, Range="bytes=0-22")
    site.find_service(DownloadWriter).write_all()
    assert total(site, mod) == 2


@pytest.fixture
def clock(monkeypatch):
    def set_clock(moment):
        for module in ("models", "counting", "pages"):
            monkeypatch.setattr(f"modhub_downloads.{module}.now", lambda: moment)

    return set_clock


EVENING = datetime(2026, 11, 22, 23, 59, 59, tzinfo=UTC)
MIDNIGHT = EVENING + timedelta(seconds=1)


def rows_of(site, *columns):
    with site.databases.readonly_session() as session:
        return [tuple(row) for row in session.execute(select(*columns).order_by(*columns))]


def test_at_midnight_a_new_day_with_another_salt_begins_and_no_address_is_stored(site, writer, clock):
    # C-DL-2, C-DL-3
    mod, today = published_mod(site), day_of(MIDNIGHT)
    clock(EVENING)
    download(site, mod, "203.0.113.77")
    clock(MIDNIGHT)
    download(site, mod, "203.0.113.77")
    download(site, mod, "203.0.113.77")
    writer.write_all()
    days = (DailyDownloads.day, DailyDownloads.downloads)
    assert rows_of(site, *days) == [(today - 1, 1), (today, 1)], "what waited counts for its own day"
    assert total(site, mod) == 2
    salts, digests = rows_of(site, DaySalt.salt), rows_of(site, SeenDownload.digest)
    assert len(set(salts)) == len(set(digests)) == 2
    if site.databases.dialect == "sqlite":
        file = Path(site.registry.settings["sqlalchemy.url"].removeprefix("sqlite:///"))
        assert b"203.0.113.77" not in b"".join(path.read_bytes() for path in file.parent.glob(file.name + "*"))


def test_salts_and_hashes_end_with_their_day(site, writer, clock):
    # C-DL-3
    mod, today = published_mod(site), day_of(MIDNIGHT)
    clock(EVENING)
    download(site, mod)
    writer.write_all()
    [salt] = rows_of(site, DaySalt.day, DaySalt.salt)
    [seen] = rows_of(site, SeenDownload.day, SeenDownload.digest)
    assert (salt[0], seen[0], len(salt[1])) == (today - 1, today - 1, 32)
    writer.run_night()
    assert rows_of(site, DaySalt.day) == [(today - 1,)], "the day is not over"
    clock(MIDNIGHT + timedelta(minutes=4))
    download(site, mod)
    writer.write_all()
    assert not writer.run_night(), "late downloads of the day may still come"
    clock(MIDNIGHT + timedelta(minutes=6))
    assert writer.run_night()
    assert rows_of(site, DaySalt.day) == [(today,)]
    assert rows_of(site, SeenDownload.day) == [(today,)]
    assert not writer.run_night(), "once a night"
    assert rows_of(site, DailyDownloads.downloads) == [(1,), (1,)]


def test_what_arrives_after_its_day_was_closed_counts_today(site, writer, clock):
    # C-DL-2
    mod, today = published_mod(site), day_of(MIDNIGHT)
    clock(MIDNIGHT + timedelta(minutes=6))
    writer.run_night()
    for day in (today - 1, today, today + 1):
        writer.counter.add(CountedDownload(day, "192.0.2.1", mod["id"], "1"))
    writer.counter.add(CountedDownload(today - 1, "192.0.2.2", mod["id"], "1"))
    writer.counter.add(CountedDownload(today, "192.0.2.1", 10**6, "1"))  # of a mod that is gone
    writer.write_all()
    assert rows_of(site, DailyDownloads.day, DailyDownloads.downloads) == [(today, 2)]
    assert rows_of(site, DaySalt.day) == [(today,)]
    assert len(writer.counter) == 0


def lost_connection(*_):
    raise OSError("lost")


def test_an_error_loses_nothing_and_a_repetition_adds_nothing(site, writer, counts, monkeypatch):
    # C-DL-7
    mod = published_mod(site)
    for number in range(3):
        download(site, mod, f"192.0.2.{number}")
    with monkeypatch.context() as broken:
        # The commit succeeds, but the process does not learn it.
        broken.setattr(DownloadCounter, "remove", lost_connection)
        with pytest.raises(OSError, match="lost"):
            writer.write_all()
    assert len(writer.counter) == 3
    assert counts(mod) == {"1": 3}


def lost_downloads():
    return REGISTRY.get_sample_value("modhub_downloads_lost_total") or 0


def test_memory_is_bounded(start, monkeypatch):
    # C-DL-7
    monkeypatch.setattr("modhub_downloads.services.WAITING_MOST", 3)
    site = start(FEATURES, fresh=True)
    mod, counter, lost = published_mod(site), site.find_service(DownloadWriter).counter, lost_downloads()
    for number in (1, 2, 3, 3, 4, 5, 1):
        download(site, mod, f"192.0.2.{number}")
    assert len(counter) == 3
    assert lost_downloads() == lost + 2
    site.find_service(DownloadWriter).write_all()
    assert len(counter) == 0
    download(site, mod, "192.0.2.4")
    site.find_service(DownloadWriter).write_all()
    assert total(site, mod) == 4


def test_two_writers_count_a_caller_once(site, writer, counts):
    # C-DL-2
    mods = [published_mod(site) for _ in range(3)]
    day = day_of(datetime.now(UTC))
    writers = []
    for _ in range(2):
        counter = DownloadCounter()
        for number in range(300):
            for mod in mods:
                counter.add(CountedDownload(day, f"192.0.2.{number}", mod["id"], "1"))
        mods.reverse()
        writers.append(DownloadWriter(writer._databases, writer._mods, counter))
    at_once([writer.write_all for writer in writers])
    assert [counts(mod) for mod in mods] == [{"1": 300}] * 3
