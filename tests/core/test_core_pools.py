"""How many connections a process opens, and how long it waits: as the ini says."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import monotonic

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from modhub.db import DatabaseLimits, is_transient
from modhub.testing import Start
from modhub.testing.databases import locked_database
from modhub.testing.mods import OWNER, published_mod
from modhub.testing.postgres_rows import RENEWING

SMALL = {"sqlalchemy__pool_size": "1", "sqlalchemy__max_overflow": "1", "sqlalchemy__pool_timeout": "60"}
OPEN = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> :renewing"
).bindparams(renewing=RENEWING)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_process_never_has_more_connections_than_the_ini_allows(start: Start) -> None:
    # C-RUN-15
    site = start(**SMALL)
    mod, together = published_mod(site), Barrier(8)
    counted = []

    def work(number: int) -> None:
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
    assert 1 < most <= DatabaseLimits(1, 1).connections == 7


def test_who_finds_no_free_connection_is_told_that_the_service_is_busy(start: Start) -> None:
    # C-ERR-16, C-RUN-15
    site = start(**SMALL | {"sqlalchemy__pool_timeout": "1"})
    queries = site.databases.raw_queries
    queries._slots.get(timeout=1)
    queries._slots.get(timeout=1)
    assert site.get("/api/modhub", status=503).json["error"] == "busy"
    queries._slots.put(None)
    queries._slots.put(None)
    site.get("/api/modhub", status=200)
    with site.databases.readonly_engine.connect(), site.databases.readonly_engine.connect():
        with pytest.raises(PoolTimeout) as refusal:
            site.databases.readonly_engine.connect()
        assert is_transient(refusal.value)


def test_a_lock_is_waited_for_as_long_as_the_ini_says(start: Start) -> None:
    # C-RUN-15
    site = start(modhub__lock_seconds="1")
    own = site.as_account(OWNER)
    mod = published_mod(site)
    with locked_database(str(site.registry.settings["sqlalchemy.url"])):
        began = monotonic()
        refused = own.put_json(f"/api/modhub/{mod['id']}", {"title": "x"}, status=503)
        assert monotonic() - began >= 1
    assert refused.json["error"] == "busy"
    own.put_json(f"/api/modhub/{mod['id']}", {"title": "x"}, status=200)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_statement_takes_no_longer_than_the_ini_says(start: Start) -> None:
    # C-RUN-15
    site = start(modhub__statement_seconds="1")
    for engine in (site.databases.readonly_engine, site.databases.write_engine):
        with engine.connect() as connection, pytest.raises(DBAPIError) as refusal:
            connection.execute(text("SELECT pg_sleep(60)"))
        assert is_transient(refusal.value)
