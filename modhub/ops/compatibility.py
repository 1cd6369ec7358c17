"""Which older code may run on a newer schema: recorded by the migration, read by the older code.

A revision declares ``expands = True``: all code that worked before works with its schema too. Or it declares
``compatible_with = "core_0005"``: the oldest revision whose code still works. The row of a revision names the oldest
that suits all applied ones, so that older code need not know the revisions between
(ADR 027).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, inspect, select

from modhub.ops.models import CompatibleRevision

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory


def oldest_compatible(scripts: "ScriptDirectory", revision: str) -> str:
    """The oldest revision whose code works on the schema of ``revision``, which may be itself.

    What a migration declares holds only as far as those between allow it.
    """
    lineage = [script.revision for script in scripts.iterate_revisions(revision, "base")]
    oldest, age = len(lineage) - 1, 0
    while age < oldest:
        module = scripts.get_revision(lineage[age]).module
        if not getattr(module, "expands", False):
            declared = getattr(module, "compatible_with", None)
            oldest = min(oldest, lineage.index(declared) if declared in lineage[age:] else age)
        age += 1
    return lineage[oldest]


def record_compatible(
    connection: Connection, package: str, scripts: "ScriptDirectory", applied_revisions: Iterable[str]
) -> None:
    """Replace the rows of ``package`` by those of the applied revisions."""
    if not _has_table(connection):
        return
    connection.execute(delete(CompatibleRevision).where(CompatibleRevision.package == package))
    for revision in applied_revisions:
        oldest = oldest_compatible(scripts, revision)
        if oldest != revision:
            row = {"package": package, "revision": revision, "oldest": oldest}
            connection.execute(insert(CompatibleRevision).values(row))


def is_compatible(connection: Connection, package: str, revisions: set[str], known_revisions: set[str]) -> bool:
    """Whether code that has ``known_revisions`` works on a schema with the unknown ``revisions``."""
    if not revisions or revisions & known_revisions or not _has_table(connection):
        return False
    rows = select(CompatibleRevision.revision, CompatibleRevision.oldest).where(
        CompatibleRevision.package == package, CompatibleRevision.revision.in_(revisions)
    )
    recorded = {row.revision: row.oldest for row in connection.execute(rows)}
    return recorded.keys() == revisions and known_revisions.issuperset(recorded.values())


def _has_table(connection: Connection) -> bool:
    return inspect(connection).has_table(CompatibleRevision.__tablename__)
