"""A new feed for each timeline of PostgreSQL. Failovers: tests/functional/test_failover.py."""

from contextlib import closing

import psycopg
import pytest
from sqlalchemy import select, update

from modhub.admin.row_ids import ID_GAP
from modhub.admin.timelines import is_same_timeline, watch_timelines
from modhub.db import Databases
from modhub.db.changes import Generation
from modhub_testing.mods import new_mod
from modhub_testing.postgres import PORT
from tests.people import actions, write

pytestmark = pytest.mark.postgres

postgresql = pytest.mark.parametrize("dialect", ["postgresql"])


def generation(site):
    with site.databases.readonly_session() as session:
        feed, timeline = session.execute(select(Generation.feed, Generation.timeline)).one()
    return feed, timeline


def set_timeline(site, timeline):
    write(site, update(Generation).values(timeline=timeline))


def connect_again(site):
    """As after a failover, which ends all connections."""
    site.databases.dispose()
    site.databases.write_engine.connect().close()


@postgresql
def test_another_timeline_begins_a_new_feed(site):
    # C-SYNC-6, C-MOD-2
    mod = new_mod(site)
    feed, timeline = generation(site)
    system, _, number = timeline.partition("/")
    assert (system.isdigit(), number) == (True, "00000001")
    connect_again(site)
    assert generation(site) == (feed, timeline)
    for other in (f"{system}/00000000", f"1{system}/00000001"):
        set_timeline(site, other)
        connect_again(site)
        before, feed = feed, generation(site)[0]
        assert feed != before
        assert generation(site)[1] == timeline
    assert actions(site).count("feed begun") == 2
    assert new_mod(site)["id"] == mod["id"] + 2 * ID_GAP + 1


def test_what_a_role_may_read_makes_no_other_timeline():
    # C-SYNC-6
    assert is_same_timeline("00000002", "7312/00000002")
    assert is_same_timeline("7312/00000002", "00000002")
    assert not is_same_timeline("00000003", "7312/00000002")


@postgresql
def test_an_unknown_timeline_is_only_recorded(site):
    """As after an upgrade and a restore."""
    feed, timeline = generation(site)
    set_timeline(site, "")
    connect_again(site)
    assert generation(site) == (feed, timeline)
    assert "feed begun" not in actions(site)


@pytest.fixture
def plain_role(site, postgres):
    """The address of the site's database for a role that may not read the system's identifier."""
    url = site.databases.write_engine.url
    with closing(psycopg.connect(f"host='{postgres.base}' port={PORT} user=postgres dbname={url.database}")) as other:
        other.autocommit = True
        name = f"plain_{url.database}"
        other.execute(f"CREATE ROLE {name} LOGIN".encode())
        other.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}".encode())
        other.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}".encode())
        other.execute(b"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public")
        yield url.set(username=name).render_as_string(False)
        other.execute(b"GRANT EXECUTE ON FUNCTION pg_control_system() TO public")
        other.execute(f"DROP OWNED BY {name}".encode())
        other.execute(f"DROP ROLE {name}".encode())


@postgresql
def test_a_role_that_may_not_read_the_system_knows_its_timeline(site, plain_role):
    # C-SYNC-6
    set_timeline(site, "00000000")
    feed = generation(site)[0]
    databases = Databases(plain_role)
    databases.write_session.configure(registry=site.registry)
    watch_timelines(databases)
    with databases.write_session.begin() as session:
        new_feed = session.scalars(select(Generation.feed)).one()
    databases.dispose()
    assert new_feed != feed
    assert generation(site) == (new_feed, "00000001")
