"""What each process of a service notes about itself, so that ``modhub-admin doctor`` sees where they differ.

Machines share the database and the object store only. Where their clocks, secrets or versions differ, links of one are
refused by another, or leases and limits are late, and no process sees it alone. Nor does it where one of a machine's
processes was not restarted after an upgrade.
"""

import json
import os
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from sqlalchemy import delete
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.secret_fingerprints import secret_fingerprint
from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now, shared_now
from modhub.events import ApplicationStopped
from modhub.ops import observations
from modhub.ops.models import Observation

NOTE_SECONDS: Final = 600
MACHINE: Final = "machine "
_FORGET: Final = timedelta(days=1)
_RECENT: Final = timedelta(seconds=3 * NOTE_SECONDS)
_HOST: Final = 70


class ProcessNote(NamedTuple):
    """A note of one process; ``ahead`` is how many seconds its clock was ahead of the database's."""

    name: str
    """``process 812 of app1``"""
    version: str
    secret: str
    ahead: float

    @property
    def host(self) -> str:
        """The name of its machine."""
        return self.name.partition(" of ")[2] or self.name


def _own_name() -> str:
    return f"{MACHINE}process {os.getpid()} of {socket.gethostname()[:_HOST]}"


def note_process(registry: Any) -> None:
    """Write the note of this process, and forget processes that have written none for a day."""
    # Not the one connection of best effort: at a start others have it, and the log would say that machines wait.
    with find_service(registry, Databases).write_session.begin() as session:
        clock = shared_now(session)
        ahead = (now() - clock).total_seconds()
        note = {
            "version": version("modhub"),
            "secret": secret_fingerprint(registry.settings["modhub.secret"][0]),
            "ahead": round(ahead, 1),
        }
        # By the shared clock: a machine whose own is hours off would count as gone.
        observations.record_observation(session, _own_name(), json.dumps(note), at=clock)
        old = Observation.name.startswith(MACHINE), Observation.observed_at < clock - _FORGET
        bulk.execute_bulk(session, delete(Observation).where(*old))


def forget_process(event: ApplicationStopped) -> None:
    """Remove the note of this process, which ends: what follows it may be of another version."""
    # Without the database the note is old in half an hour.
    with suppress(SQLAlchemyError), find_service(event.registry, Databases).write_session.begin() as session:
        session.execute(delete(Observation).where(Observation.name == _own_name()))


def noted_processes(databases: Databases) -> list[ProcessNote]:
    """The notes that processes have written in the last half hour, by their names."""
    notes = observations.recorded_if_readable(databases, MACHINE)
    if not notes:
        return []
    with databases.readonly_session() as session:
        clock = shared_now(session)
    recent = {name: note for name, (at, note) in notes.items() if abs(clock - at) < _RECENT}
    return [ProcessNote(name.removeprefix(MACHINE), **json.loads(note)) for name, note in sorted(recent.items())]


def find_differences(databases: Databases, what: Callable[[ProcessNote], str], advice: str) -> Iterator[str]:
    """One sentence if processes differ in ``what``, with those of each value; the values stay unsaid."""
    groups: dict[str, list[str]] = defaultdict(list)
    for note in noted_processes(databases):
        groups[what(note)].append(note.name)
    if len(groups) > 1:
        yield f"{' differs from '.join(' and '.join(names) for names in groups.values())}: {advice}"


def includeme(config: Configurator) -> None:
    """Let each process note itself, where there can be several machines."""
    if find_service(config.registry, Databases).dialect == "postgresql":
        config.add_worker("machines", note_process, NOTE_SECONDS)
        config.add_subscriber(forget_process, ApplicationStopped)
