"""What has to follow when a database was set back to an earlier moment, by whatever tool.

Ids and serials of the lost future would be given out again, sessions come back to life, and emails be sent twice. That
it was done is a row that no backup holds: a service does not start on rows that were only loaded.
"""

from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.admin import migrate
from modhub.admin.observations import Observation, record_observation
from modhub.admin.row_ids import skip_all_ids
from modhub.base.settings import StartRefused
from modhub.db import Databases
from modhub.db.changes import start_new_feed
from modhub.plugins.declarations import Migrations
from modhub.plugins.events import DatabaseRestored

DATABASE_READY: Final = "database ready"
"""The observation that it was done; the core's baseline writes it into a new database."""


def is_ready(databases: Databases) -> bool:
    """Whether the database is new, or what has to follow a restore was done."""
    ready = select(Observation.name).where(Observation.name == DATABASE_READY)
    return migrate.with_connection(databases, lambda connection: connection.scalar(ready)) is not None


def refuse_unready(databases: Databases, ini: str = "YOUR.ini") -> None:
    """`StartRefused` on a database that was restored without what has to follow."""
    if not is_ready(databases):
        raise StartRefused(f"the database was restored, and not prepared for use; run: modhub-admin -c {ini} restored")


def refuse_unusable(databases: Databases, packages: list[Migrations], ini: str) -> None:
    """`StartRefused` unless the database has the schema of this code, and is ready; then all connections are closed."""
    try:
        migrate.refuse_when_behind(databases, packages, ini)
        refuse_unready(databases, ini)
    except StartRefused:
        databases.dispose()
        raise


def make_ready(session: Session, registry: Any, previous_base_url: str) -> list[str]:
    """Do what follows a restore, in the transaction of ``session``; returns sentences for the operator."""
    # The timeline in the rows may be another server's.
    start_new_feed(session, timeline="")
    skip_all_ids(session)
    event = DatabaseRestored(session, registry, previous_base_url)
    registry.notify(event)
    record_observation(session, DATABASE_READY)
    return event.notes
