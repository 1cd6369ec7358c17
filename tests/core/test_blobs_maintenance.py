"""``sweep`` and ``verify`` beside a running service: what they lock, and that no referenced file is deleted."""

import io
import os
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import make_url, update

from modhub.blobs import BlobStore, maintenance
from modhub.blobs.models import StoredBlob, create_blob_row
from modhub.db import bulk, now
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset
from tests.people import write

pytestmark = pytest.mark.postgres

AGE = 3 * 24 * 3600


def age(site):
    """All that lies in the store, and all that is trash, is three days old."""
    for path in stored_files(site):
        os.utime(path, (time.time() - AGE, time.time() - AGE))
    old = now() - timedelta(seconds=AGE)
    write(site, update(StoredBlob).where(StoredBlob.trashed_at.is_not(None)).values(trashed_at=old))


def orphan(site, content=b"orphan", *, publish=True):
    store = site.find_service(BlobStore)
    blob = store.stage(io.BytesIO(content), 1000)
    if publish:
        store.publish(blob.key)
    return blob


def keys(site):
    listed = site.find_service(BlobStore).keys()
    return {key for key, _ in listed}


def sweep(site, *age):
    return maintenance.sweep(site.databases, site.find_service(BlobStore), *age)


def damage(site):
    with site.databases.readonly_session() as session:
        return [sentence for _, sentence in maintenance.blob_damage(session, site.find_service(BlobStore))]


def is_locked(site):
    """Whether nobody can write the row of a blob just now."""
    url = make_url(str(site.registry.settings["sqlalchemy.url"]))
    try:
        if site.databases.dialect == "sqlite":
            with closing(sqlite3.connect(str(url.database), timeout=0, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
        else:
            with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as other:
                other.execute("LOCK TABLE core_blob IN ROW EXCLUSIVE MODE NOWAIT")
    except (sqlite3.OperationalError, psycopg.errors.LockNotAvailable):
        return True
    return False


@pytest.fixture
def store_calls(site, monkeypatch):
    """What the sweep asks of the store, and whether blobs were locked then."""
    store, seen = site.find_service(BlobStore), []
    remove, walk = store.delete, store.keys

    def deleting(key):
        seen.append((key, is_locked(site)))
        remove(key)

    def walking():
        for entry in walk():
            seen.append(("walk", is_locked(site)))
            yield entry

    monkeypatch.setattr(store, "delete", deleting)
    monkeypatch.setattr(store, "keys", walking)
    return seen


def test_by_default_no_file_is_looked_for_or_removed_under_a_lock(site, store_calls):
    # C-RUN-6
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    left = orphan(site)
    age(site)
    young = orphan(site, b"young")
    assert sweep(site) == (1, 1)
    assert [locked for _, locked in store_calls] == [False] * len(store_calls)
    # The replaced one, then a walk past three (the current one, the old orphan, the young one), then the orphan.
    assert [key == "walk" for key, _ in store_calls] == [False, True, True, True, False]
    assert store_calls[-1][0] == left.key
    assert young.key in keys(site)
    assert site.get(mod_address(mod, "download")).body == b"two"


def test_a_dry_run_counts_what_a_sweep_would_remove_at_that_age(site):
    # C-RUN-4
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    orphan(site)
    age(site)
    upload_asset(site, mod, "code", b"three", version="3")
    orphan(site, b"young")
    orphan(site, b"as young")
    before, place = keys(site), (site.databases, site.find_service(BlobStore))
    counted = [maintenance.count_sweepable(*place, seconds) for seconds in (2 * AGE, AGE // 2, 0)]
    assert counted == [(0, 0), (1, 1), (2, 3)]
    assert keys(site) == before
    assert [sweep(site, seconds) for seconds in (2 * AGE, AGE // 2, 0)] == [(0, 0), (1, 1), (1, 2)]


def test_young_orphans_go_under_the_lock_and_nothing_else_does(site, store_calls):
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    left = [orphan(site).key, orphan(site, publish=False).key]
    assert sweep(site, 0) == (1, 2)
    assert {key for key, locked in store_calls if locked} == set(left)
    assert not is_locked(site)


@pytest.mark.parametrize("older_than", [0, maintenance.GRACE_SECONDS])
def test_what_is_published_and_not_yet_committed_is_waited_for(site, older_than):
    store = site.find_service(BlobStore)
    with site.databases.write_session.begin() as session:
        blob = orphan(site, publish=False)
        create_blob_row(session, blob)
        session.flush()
        store.publish(blob.key)
        for path in stored_files(site):
            os.utime(path, (time.time() - AGE, time.time() - AGE))
        taken = []
        thread = threading.Thread(target=lambda: taken.append(sweep(site, older_than)))
        thread.start()
        thread.join(0.3)
        assert taken == []
        assert blob.key in keys(site)
    thread.join(30)
    assert taken == [(0, 0)]
    assert store.verify(blob.key, blob.size, blob.sha256) is None


def commit(site, blob):
    """What an upload does at its end: the row, then the file."""
    with site.databases.write_session.begin() as session:
        create_blob_row(session, blob)
        session.flush()
        site.find_service(BlobStore).publish(blob.key)


@pytest.mark.parametrize(
    ("older_than", "after_lock"),
    # After the lock it looks old, since the file server's clock is behind.
    [(0, False), (maintenance.GRACE_SECONDS, False), (maintenance.GRACE_SECONDS, True)],
)
def test_what_is_committed_during_a_sweep_stays(site, monkeypatch, older_than, after_lock):
    blob, lost = orphan(site, publish=False), orphan(site)
    age(site)
    block_row_writers = maintenance._block_row_writers

    @contextmanager
    def with_upload(databases):
        if not after_lock:
            commit(site, blob)
        with block_row_writers(databases) as session:
            yield session
        if after_lock:
            commit(site, blob)

    monkeypatch.setattr(maintenance, "_block_row_writers", with_upload)
    store = site.find_service(BlobStore)
    assert sweep(site, older_than) == (0, 1)
    assert keys(site) == {blob.key} != {lost.key}
    assert store.verify(blob.key, blob.size, blob.sha256) is None


def test_an_upload_that_loses_its_file_is_refused(site, monkeypatch):
    """At the age of 0 a sweep may take what is staged; then the upload's row is not written."""
    mod = published_mod(site)
    store = site.find_service(BlobStore)
    publish = store.publish

    def late(key):
        store.delete(key)
        publish(key)

    monkeypatch.setattr(store, "publish", late)
    answer = site.as_account(OWNER).post(mod_address(mod, "code?version=2"), b"x", status=502)
    assert answer.json["error"] == "storage_refused"
    assert site.get(mod_address(mod)).json["version"] == "1"
    assert damage(site) == []


def test_what_is_replaced_while_files_are_read_is_no_damage(site, monkeypatch):
    mod = published_mod(site)
    store = site.find_service(BlobStore)
    look = store.verify
    acts = [
        lambda: upload_asset(site, mod, "code", b"two", version="2"),
        lambda: sweep(site, 0),
    ]

    def late(key, size, sha256):
        while acts:
            acts.pop(0)()
        return look(key, size, sha256)

    monkeypatch.setattr(store, "verify", late)
    assert damage(site) == acts == []
    (path,) = stored_files(site)
    path.unlink()
    assert damage(site) == ["It is missing."]


def test_more_than_a_batch(site, monkeypatch):
    mod = published_mod(site)
    for at in range(5):
        upload_asset(site, mod, "code", version=f"v{at}")
        orphan(site)
    monkeypatch.setattr(bulk, "BATCH_PAUSE_SECONDS", 0)
    monkeypatch.setattr(bulk, "BATCH", 2)
    batches = bulk.batches
    monkeypatch.setattr(bulk, "batches", lambda values, _size=0: batches(values, 2))
    assert damage(site) == []
    assert sweep(site, 0) == (5, 5)
    assert (len(keys(site)), site.count_rows(StoredBlob)) == (1, 1)
