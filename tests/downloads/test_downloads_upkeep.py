"""The workers, and leaving again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event, Semaphore

import pytest

from modhub.plugins.workers import Workers
from modhub_downloads import counting
from modhub_downloads.models import ModDownloads, day_of
from modhub_downloads.services import CountedDownload, DownloadCounter
from modhub_testing.mods import mod_address, published_mod
from modhub_testing.workers import find_worker, run_worker

from .conftest import total

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def test_a_worker_survives_a_database_that_fails(site, writer, monkeypatch, caplog):
    # C-DL-7
    mod, counter = published_mod(site), writer.counter
    with monkeypatch.context() as broken:
        broken.setattr("modhub_downloads.counting.write_downloads", lambda *_: 1 / 0)
        for _ in range(3):
            site.get(mod_address(mod, "download"), extra_environ={"REMOTE_ADDR": "203.0.113.9"})
            assert not run_worker(site.registry, "download counts")
    assert caplog.text.count("download counts wait: ZeroDivisionError") == 1
    assert "203.0.113.9" not in caplog.text
    assert len(counter) == 1
    assert run_worker(site.registry, "download counts")
    assert run_worker(site.registry, "download days")
    assert (len(counter), total(site, mod)) == (0, 1)


def test_a_worker_writes_when_it_stops(site, writer):
    # C-DL-7
    mod, counter = published_mod(site), writer.counter
    workers = Workers()
    workers.start(site.registry, [find_worker(site.registry, "download counts")])
    counter.add(CountedDownload(day_of(datetime.now(UTC)), "192.0.2.1", mod["id"], "1"))
    workers.stop()
    assert total(site, mod) == 1


def test_the_workers_of_a_process_write_nothing_twice(site, writer, monkeypatch):
    # C-DL-7
    mod, counter = published_mod(site), writer.counter
    asked, may_write, batches = Semaphore(0), Event(), []
    first, write_downloads = DownloadCounter.first, counting.write_downloads

    def ask(self, most):
        batch = first(self, most)
        asked.release()
        return batch

    def write_later(session, mods, batch, day):
        batches.append(list(batch))
        assert may_write.wait(60)
        return write_downloads(session, mods, batch, day)

    monkeypatch.setattr(DownloadCounter, "first", ask)
    monkeypatch.setattr(counting, "write_downloads", write_later)
    counter.add(CountedDownload(day_of(datetime.now(UTC)), "192.0.2.1", mod["id"], "1"))
    with ThreadPoolExecutor(2) as threads:
        written = [threads.submit(writer.write_all) for _ in range(2)]
        assert asked.acquire(timeout=60)
        is_asked_again = asked.acquire(timeout=0.2)
        may_write.set()
        for each in written:
            each.result(60)
    assert not is_asked_again
    assert len(batches) == 1
    assert total(site, mod) == 1


def test_a_backup_has_the_sums_and_nothing_about_callers():
    # C-DL-3
    tables = {name: table for name, table in ModDownloads.metadata.tables.items() if name.startswith("downloads_")}
    kept = {name for name, table in tables.items() if table.info.get("in_backup", True)}
    assert kept == {"downloads_day", "downloads_mod"}
