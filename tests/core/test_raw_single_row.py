"""Reading the serial by a prepared statement of libpq."""

import pytest

from modhub.changes import ChangeReader, raise_serial
from modhub.db import Databases
from modhub.raw_queries import RawQueryExecutor
from modhub.testing import Site


def reader_of(site: Site) -> RawQueryExecutor:
    return site.find_service(ChangeReader)._reader


def test_a_stamp_is_equal_until_something_changes(site: Site) -> None:
    # C-READ-1
    changes = site.find_service(ChangeReader)
    first = changes.stamp()
    assert [changes.stamp() for _ in range(3)] == [first] * 3
    with site.databases.write_session.begin() as session:
        raise_serial(session)
    assert changes.stamp() != first
    with site.counted() as statements:
        changes.stamp()
    assert len(statements) == 1


@pytest.mark.parametrize("happens", ["pg_terminate_backend", "DEALLOCATE"])
def test_a_lost_connection_or_statement_is_no_error(site: Site, happens: str) -> None:
    # T-F5
    if site.databases.dialect == "sqlite":
        pytest.skip("no connections are lost")
    changes, idle = site.find_service(ChangeReader), reader_of(site)._idle
    serial, stamp = changes.generation()[0], changes.stamp()
    assert stamp == changes.stamp()
    pids = [connection.info.backend_pid for connection in idle]
    if happens == "DEALLOCATE":
        for connection in idle:
            connection.execute("DEALLOCATE ALL")
        assert changes.stamp() == changes.generation()
    else:
        with site.find_service(Databases).write_engine.connect() as other:
            for pid in pids:
                other.exec_driver_sql(f"SELECT pg_terminate_backend({pid})")
        assert changes.stamp() == stamp
        assert not set(pids) & {connection.info.backend_pid for connection in idle}
    assert changes.generation()[0] == serial
