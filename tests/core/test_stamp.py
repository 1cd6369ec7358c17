"""The stamp under which answers are kept: equal as long as everybody sees the same."""

import pytest

from modhub.db.changes import ChangeReader, raise_serial
from modhub_testing import Site

pytestmark = pytest.mark.postgres


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


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_lost_connection_is_no_error(site: Site) -> None:
    # T-F5
    changes, idle = site.find_service(ChangeReader), site.databases.raw_queries._idle
    stamp = changes.stamp()
    pids = [connection.info.backend_pid for connection in idle]
    with site.databases.write_engine.connect() as other:
        for pid in pids:
            other.exec_driver_sql(f"SELECT pg_terminate_backend({pid})")
    assert changes.stamp() == stamp
    assert not set(pids) & {connection.info.backend_pid for connection in idle}
