"""Which migrations lie between the database's revision and another one."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from modhub.base.settings import StartRefused
from modhub.declarations import Migrations
from modhub.ops.migrate import revision_scripts
from modhub.ops.revisions import current_revisions, last_of_a_roll
from modhub.ops.schema_state import SchemaState, schema_state

if TYPE_CHECKING:
    from alembic.script import Script, ScriptDirectory


def revisions_to_apply(connection: Connection | None, package: Migrations, target: str | None) -> "list[Script]":
    """The migrations up to ``target`` (if None: those of the next run of ``migrate``), in the order they run.

    Without a connection the database is empty. Raises `StartRefused` if the database is beyond ``target``.
    """
    scripts, start = revision_scripts(package), _current_or_base(connection, package)
    if connection is not None and schema_state(connection, package) is SchemaState.COMPATIBLE:
        return []
    if target is not None and target not in start and target in _revisions_up_to(scripts, start):
        raise StartRefused(f"the database is beyond {target}; modhub-admin migrate --down {target} goes back")
    applied = _revisions_up_to(scripts, start)
    path = scripts.iterate_revisions(target or last_of_a_roll(package, start), "base")
    return [script for script in path if script.revision not in applied][::-1]


def revisions_to_undo(connection: Connection | None, package: Migrations, target: str) -> "list[Script]":
    """The migrations from the database's revision down to ``target``, in the order they are undone.

    Raises `StartRefused` if the database does not have ``target``.
    """
    scripts, start = revision_scripts(package), _current_or_base(connection, package)
    if target not in _revisions_up_to(scripts, start):
        raise StartRefused(f"the database does not have {target} yet; modhub-admin migrate --to {target} goes there")
    kept = _revisions_up_to(scripts, (target,))
    return [script for script in scripts.iterate_revisions(start, "base") if script.revision not in kept]


def _current_or_base(connection: Connection | None, package: Migrations) -> tuple[str, ...]:
    return () if connection is None else current_revisions(connection, package)


def _revisions_up_to(scripts: "ScriptDirectory", revisions: tuple[str, ...]) -> set[str]:
    return {script.revision for script in scripts.iterate_revisions(revisions, "base")} if revisions else set()
