"""``/healthz`` and ``/readyz``."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from unittest.mock import ANY

import pytest
from sqlalchemy import event

from modhub.admin import health
from modhub.plugins.declarations import DeclaredCheck
from modhub_testing.clocks import Clock
from modhub_testing.mods import OWNER, mod_address, published_mod

pytestmark = pytest.mark.slow


@pytest.fixture
def site(start):
    """Of its own: what a check has seen is kept for seconds."""
    return start(fresh=True)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, health)


class Part:
    """A part that counts its checks and holds them until released."""

    def __init__(self, site):
        self.asked = 0
        self.begun, self.go = Event(), Event()
        self.go.set()
        site.declarations.checks["storage"] = DeclaredCheck("storage", self, ("ready",))

    def __call__(self, _registry, _session):
        self.asked += 1
        self.begun.set()
        assert self.go.wait(60)
        return ()


@pytest.mark.postgres
def test_both_are_well_and_other_sites_learn_whether_the_service_is_there(site):
    # C-RUN-8
    lives, ready = site.get("/healthz"), site.get("/readyz")
    assert lives.json == {"status": "ok"}
    assert [ready.json[part] for part in ("status", "database", "storage")] == ["ok"] * 3
    assert ready.headers["Cache-Control"] == "no-store"
    assert lives.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in ready.headers
    asked = site.options("/healthz", headers={"Origin": "https://a.example", "Access-Control-Request-Method": "GET"})
    assert asked.headers["Access-Control-Allow-Origin"] == "*"


def test_storage_that_is_not_configured_is_named_and_well(start):
    # C-RUN-8
    answer = start(modhub__storage="").get("/readyz", status=200).json
    assert (answer["status"], answer["storage"]) == ("ok", "not configured")


def test_a_store_that_cannot_be_written_is_503_and_named(site, clock, monkeypatch, caplog):
    # C-RUN-8
    real = os.open

    def refuse(path, flags, *rest, **more):
        if flags & os.O_CREAT and "staging" in str(path):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        answer = site.get("/readyz", status=503).json
        clock.forward(health.CACHE_SECONDS)
        assert site.get("/readyz", status=503).json == answer
    assert (answer["status"], answer["storage"], answer["database"]) == ("unavailable", "unreachable", "ok")
    # Once, although two probes failed.
    lines = [message for message in caplog.messages if message.startswith("not ready")]
    assert lines == ["not ready: storage (the file store cannot be read (Read-only file system))"]
    clock.forward(health.CACHE_SECONDS)
    assert site.get("/readyz", status=200).json["storage"] == "ok"


def test_a_part_that_hangs_holds_nobody_and_is_soon_unreachable(site, clock):
    part = Part(site)
    site.get("/readyz")
    clock.forward(health.CACHE_SECONDS)
    part.go.clear()
    part.begun.clear()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(site.get, "/readyz")
        assert part.begun.wait(60)
        for _ in range(5):
            assert site.get("/readyz", status=200).json["storage"] == "ok"
        clock.forward(health.CHECK_TIMEOUT_SECONDS)
        late = site.get("/readyz", status=503).json
        part.go.set()
        assert hanging.result(60).json["storage"] == "ok"
    assert late == {"status": "unavailable", "database": "ok", "storage": "unreachable", "freeBytes": {}}
    # Anybody may call it, and each check writes and removes a file: many who ask cost one check.
    for _ in range(5):
        assert site.get("/readyz", status=200).json["storage"] == "ok"
    assert part.asked == 2


def test_those_who_come_first_together_ask_once(site):
    part = Part(site)
    part.go.clear()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(site.get, "/readyz") for _ in range(4)]
        assert part.begun.wait(60)
        part.go.set()
        assert [future.result(60).json["storage"] for future in waiting] == ["ok"] * 4
    assert part.asked == 1


@pytest.mark.postgres
def test_a_database_that_cannot_be_written_is_503_and_read_from(site, clock, dialect, caplog):
    # C-RUN-8, C-RUN-28
    engine, owner = site.databases.write_engine, published_mod(site)
    stop = {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET transaction_read_only = on"}[dialect]

    # PostgreSQL: for one transaction, of SQLAlchemy's connection.
    moment = {"sqlite": "checkout", "postgresql": "begin"}[dialect]

    def read_only(connection, *_):
        cursor = getattr(connection, "connection", connection).cursor()
        cursor.execute(stop)
        cursor.close()

    event.listen(engine, moment, read_only)
    for _ in range(2):
        answer = site.get("/readyz", status=503).json
        assert answer["freeBytes"].pop("storage") > 0
        assert answer == {"status": "unavailable", "database": "unreachable", "storage": "ok", "freeBytes": ANY}
        clock.forward(health.CACHE_SECONDS)
    site.get(f"/api/modhub/{owner['id']}", status=200)
    site.get("/healthz", status=200)
    for _ in range(3):
        site.as_account(OWNER).put_json(mod_address(owner), {"title": "Another title"}, status=503)
    reason = {"sqlite": "attempt to write a readonly database", "postgresql": "in a read-only transaction"}[dialect]
    # Each once: not for every probe, and not for every request.
    probe, answered = [line.message for line in caplog.records if line.levelname == "WARNING"]
    assert probe.startswith("not ready: database (")
    assert answered.startswith("the database is not available: ")
    assert reason in probe
    assert reason in answered
    event.remove(engine, moment, read_only)
    engine.dispose()
    with caplog.at_level("INFO"):
        assert site.get("/readyz", status=200).json["database"] == "ok"
    assert caplog.messages.count("ready again: database") == 1


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_disk_of_sqlite_without_room_is_503_although_its_log_still_has_some(site, clock, monkeypatch, caplog):
    # C-RUN-8, C-RUN-28
    site.get("/readyz", status=200)
    real = os.statvfs
    folder = Path(str(site.databases.write_engine.url.database)).parent

    def nearly_full(path):
        return SimpleNamespace(f_bavail=255, f_frsize=4096) if Path(path) == folder else real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", nearly_full)
        clock.forward(health.CACHE_SECONDS)
        assert site.get("/readyz", status=503).json["database"] == "unreachable"
    assert "not ready: database (database or disk is full)" in caplog.messages
    clock.forward(health.CACHE_SECONDS)
    site.get("/readyz", status=200)
