"""When the operator's timers last did their work: a backup, a sweep, a verification of the audit trail (C-RUN-49)."""

from argparse import Namespace
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.metrics import LabelValues
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.ops.models import Observation
from modhub.ops.observations import record_observation

_PREFIX: Final = "task "


def record_success(databases: Databases, arguments: Namespace, code: int) -> None:
    """Note that the command's ``arguments.task`` has succeeded now, if it has one and the exit ``code`` is 0.

    What it has done is done, also if this cannot be written.
    """
    if code == 0 and "task" in arguments:
        with suppress(SQLAlchemyError), databases.write_session.begin() as session:
            record_observation(session, f"{_PREFIX}{arguments.task}")


def success_times(registry: Any) -> dict[LabelValues, float]:
    """When each task last succeeded, in seconds since 1970; without those that never did."""
    rows = select(Observation.name, Observation.observed_at).where(Observation.name.startswith(_PREFIX))
    with find_service(registry, Databases).readonly_session() as session:
        return {name.removeprefix(_PREFIX): at.timestamp() for name, at in session.execute(rows)}
