"""What each machine of a service notes about itself, so that ``modhub-admin doctor`` sees where they differ.

Machines share the database and the object store only. Where their clocks, secrets or versions differ, links of one are
refused by another, or leases and limits are late, and no process sees it alone.
"""

import json
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from sqlalchemy import delete

from modhub.base.secret_fingerprints import secret_fingerprint
from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now, shared_now
from modhub.ops import observations
from modhub.ops.models import Observation

NOTE_SECONDS: Final = 600
MACHINE: Final = "machine "
_FORGET: Final = timedelta(days=1)
_RECENT: Final = timedelta(seconds=3 * NOTE_SECONDS)
_NAME: Final = 80


class Machine(NamedTuple):
    """A note of one machine; ``ahead`` is how many seconds its clock was ahead of the database's."""

    name: str
    version: str
    secret: str
    ahead: float


def note_machine(registry: Any) -> None:
    """Write the note of this machine, and forget machines that have written none for a day."""
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
        observations.record_observation(session, MACHINE + socket.gethostname()[:_NAME], json.dumps(note), at=clock)
        old = Observation.name.startswith(MACHINE), Observation.observed_at < clock - _FORGET
        bulk.execute_bulk(session, delete(Observation).where(*old))


def noted_machines(databases: Databases) -> list[Machine]:
    """The machines that have written a note in the last half hour, by their names."""
    notes = observations.recorded_if_readable(databases, MACHINE)
    if not notes:
        return []
    with databases.readonly_session() as session:
        clock = shared_now(session)
    recent = {name: note for name, (at, note) in notes.items() if abs(clock - at) < _RECENT}
    return [Machine(name.removeprefix(MACHINE), **json.loads(note)) for name, note in sorted(recent.items())]


def find_differences(databases: Databases, what: Callable[[Machine], str], advice: str) -> Iterator[str]:
    """One sentence if machines differ in ``what``, with the machines of each value; the values stay unsaid."""
    groups: dict[str, list[str]] = defaultdict(list)
    for machine in noted_machines(databases):
        groups[what(machine)].append(machine.name)
    if len(groups) > 1:
        yield f"{' differs from '.join(' and '.join(names) for names in groups.values())}: {advice}"


def includeme(config: Configurator) -> None:
    """Let each machine note itself, where there can be several."""
    if find_service(config.registry, Databases).dialect == "postgresql":
        config.add_worker("machines", note_machine, NOTE_SECONDS)
