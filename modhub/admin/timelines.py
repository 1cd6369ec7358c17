"""A new feed, and skipped ids, when the database goes on from an earlier moment (C-SYNC-6; C-MOD-2).

PostgreSQL begins a timeline with each promotion of a standby and each recovery to a point in time. What was committed
last may be lost then, so serials and ids would be given out again. A server stays on its timeline until it ends, and
connections end with it: so the timeline is read once for each connection that may write, before it is used
(ADR 044).
"""

import logging
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import Connection, Engine, event, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from modhub.admin.row_ids import skip_all_ids
from modhub.audit import record
from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk
from modhub.db.changes import Generation, start_new_feed

log = logging.getLogger(__name__)
_CHECKED: Final = "modhub timeline checked"
_SERVER: Final = """
SELECT pg_is_in_recovery(), has_function_privilege('pg_control_system()', 'EXECUTE'),
    EXISTS (SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('core_generation') AND attname = 'timeline' AND NOT attisdropped)
"""
_TIMELINE: Final = "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"
_TIMELINE_OF_SYSTEM: Final = f"(SELECT system_identifier || '/' FROM pg_control_system()) || {_TIMELINE}"  # noqa: S608


def is_same_timeline(timeline: str, known: str) -> bool:
    """Whether both name the same one. Only where both know the system's identifier does that count.

    It begins the name if the role may read it, which a GRANT changes.
    """
    if "/" in timeline and "/" in known:
        return timeline == known
    return timeline.rpartition("/")[2] == known.rpartition("/")[2]


def watch_timelines(databases: Databases) -> None:
    """Check each new connection of PostgreSQL that may write, before its first use."""
    if databases.dialect == "postgresql":
        for engine in (databases.write_engine, databases.best_effort_engine):
            _watch(engine, databases)


def _watch(engine: Engine, databases: Databases) -> None:
    @event.listens_for(engine, "engine_connect")
    def _check(connection: Connection) -> None:
        # The dictionary belongs to the driver's connection, not to this use of it.
        if _CHECKED in connection.info:
            return
        try:
            if timeline := _check_timeline(connection, databases):
                connection.info[_CHECKED] = timeline
        except BaseException:
            connection.invalidate()
            connection.close()
            raise


def _check_timeline(connection: Connection, databases: Databases) -> str:
    """Begin a new feed if the database has none for its timeline; its name, empty without tables or with older ones."""
    in_recovery, may_read_system, has_column = _single_row(connection, _SERVER)
    if in_recovery:
        # It might be promoted under this connection. The error is the one that a write gets on a standby.
        databases.dispose()
        driver: Any = connection.dialect.loaded_dbapi
        cause = driver.errors.ReadOnlySqlTransaction("the server is a standby and cannot be written")
        raise OperationalError(_SERVER, {}, cause)
    if not has_column:
        return ""
    current = _TIMELINE_OF_SYSTEM if may_read_system else _TIMELINE
    timeline, known = _single_row(connection, f"SELECT {current}, timeline FROM core_generation WHERE id = 1")  # noqa: S608
    if not is_same_timeline(timeline, known):
        with databases.write_session(bind=connection) as session, session.begin():
            _enter_timeline(session, timeline)
    return str(timeline)


def _single_row(connection: Connection, statement: str) -> Any:
    """On the driver's connection: this is no part of what the caller does, and no listener hears of it."""
    driver_connection: Any = connection.connection.driver_connection
    driver: Any = connection.dialect.loaded_dbapi
    try:
        row = driver_connection.execute(statement).fetchone()
        driver_connection.rollback()
    except driver.Error as error:
        raise OperationalError(statement, {}, error) from None
    return row


def _enter_timeline(session: Session, timeline: str) -> None:
    """Of several processes, one begins the feed of a timeline; the others wait for it."""
    known = session.scalar(select(Generation.timeline).where(Generation.id == 1).with_for_update())
    if known is not None and is_same_timeline(timeline, known):
        return
    # Empty: the tables are new or restored.
    if known:
        log.warning("the database goes on from an earlier moment (timeline %s after %s): a new feed", timeline, known)
        start_new_feed(session)
        skip_all_ids(session)
        record(session, "feed begun", "catalogue", reason="timeline")
    entered = update(Generation).where(Generation.id == 1).values(timeline=timeline)
    bulk.execute_bulk(session, entered)


def includeme(config: Configurator) -> None:
    """Watch the connections of the application."""
    watch_timelines(find_service(config.registry, Databases))
