"""How many connections a process opens, and how long it waits: as the ini says."""

import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from modhub.db import Databases, is_transient
from modhub_testing.mods import OWNER, published_mod

pytestmark = pytest.mark.postgres

SMALL = {"sqlalchemy__pool_size": "1", "sqlalchemy__max_overflow": "1"}
OPEN = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")


def test_a_server_that_does_not_answer_is_a_matter_of_the_moment(monkeypatch):
    # C-ERR-16
    monkeypatch.setattr("modhub.db.DATABASE_CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        databases = Databases(f"postgresql+psycopg://x@127.0.0.1:{silent.getsockname()[1]}/x")
        with pytest.raises(OperationalError) as refusal:
            databases.write_engine.connect()
    assert is_transient(refusal.value)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_process_never_has_more_connections_than_the_ini_allows(start, monkeypatch):
    # C-RUN-15
    monkeypatch.setattr("modhub.db.POOL_TIMEOUT_SECONDS", 60)
    site = start(fresh=True, **SMALL)
    mod, together = published_mod(site), Barrier(8)
    counted = []

    def work(number):
        together.wait(60)
        for _ in range(5):
            site.get("/api/modhub", status=200)
            site.get("/Modhub", status=200)
            site.as_account(OWNER).put_json(f"/api/modhub/{mod['id']}", {"title": f"Mod {number}"}, status=200)
            counted.append(number)

    with ThreadPoolExecutor(8) as pool, site.databases.best_effort_engine.connect() as connection:
        running = [pool.submit(work, number) for number in range(8)]
        most = 0
        while len(counted) < 40 and not any(future.done() and future.exception() for future in running):
            most = max(most, connection.scalar(OPEN))
        assert [future.exception() for future in running] == [None] * 8
    assert 1 < most <= 7  # two for writing, reading and raw queries each, and one of best effort


def test_who_finds_no_free_connection_is_told_that_the_service_is_busy(start, monkeypatch):
    # C-ERR-16, C-RUN-15
    monkeypatch.setattr("modhub.db.POOL_TIMEOUT_SECONDS", 1)
    site = start(fresh=True, **SMALL)
    queries = site.databases.raw_queries
    queries._slots.get()
    queries._slots.get()
    assert site.get("/api/modhub", status=503).json["error"] == "busy"
    queries._slots.put(None)
    queries._slots.put(None)
    site.get("/api/modhub", status=200)
    with site.databases.readonly_engine.connect(), site.databases.readonly_engine.connect():
        with pytest.raises(PoolTimeout) as refusal:
            site.databases.readonly_engine.connect()
        assert is_transient(refusal.value)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_statement_takes_no_longer_than_the_ini_says(start):
    # C-RUN-15
    site = start(modhub__statement_seconds="1")
    for engine in (site.databases.readonly_engine, site.databases.write_engine):
        with engine.connect() as connection, pytest.raises(DBAPIError) as refusal:
            connection.execute(text("SELECT pg_sleep(60)"))
        assert is_transient(refusal.value)


def test_a_connection_for_reading_that_was_in_use_is_not_kept_either(site):
    # C-RUN-28
    queries = site.databases.raw_queries
    queries._run(queries._connect(), "SELECT 1", {}, emptied=queries._emptied - 1)
    assert queries.idle_count == 0
    site.get("/api/modhub")
    assert queries.idle_count == 1
