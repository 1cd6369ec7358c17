"""How a package's tables look to this code: current, behind, newer, or with something left to drop."""

from collections.abc import Iterable, Mapping
from enum import Enum

from sqlalchemy import Connection

from modhub.base.settings import StartRefused
from modhub.declarations import Migrations
from modhub.ops import compatibility
from modhub.ops.revisions import current_revisions, known_revisions, last_revisions, with_ancestors


class SchemaState(Enum):
    """A package's tables, seen from this code."""

    CURRENT = "current"
    CONTRACTS_LATER = "current, and still with what only older code uses"
    BEHIND = "behind"
    COMPATIBLE = "newer, but compatible"
    NEWER = "newer"


def schema_state(connection: Connection, package: Migrations) -> SchemaState:
    """Compare the tables of ``package`` with this code."""
    applied, known = set(current_revisions(connection, package)), known_revisions(package)
    if applied == set(last_revisions(known)):
        return SchemaState.CURRENT
    if applied <= known.keys():
        lineage = with_ancestors(known, applied)
        contracts = all(known[revision].compatible_with in lineage for revision in known.keys() - lineage)
        return SchemaState.CONTRACTS_LATER if contracts else SchemaState.BEHIND
    if compatibility.is_compatible(connection, package.package, applied, set(known)):
        return SchemaState.COMPATIBLE
    return SchemaState.NEWER


def schema_states(connection: Connection, packages: Iterable[Migrations]) -> dict[Migrations, SchemaState]:
    """The state of each package."""
    return {package: schema_state(connection, package) for package in packages}


def packages_in(states: Mapping[Migrations, SchemaState], *accepted: SchemaState) -> list[str]:
    """The names of the packages in one of the ``accepted`` states."""
    return [package.package for package, state in states.items() if state in accepted]


def refuse_newer(states: Mapping[Migrations, SchemaState]) -> None:
    """Raise `StartRefused` if a package's schema is newer than this code, and not compatible with it."""
    if names := ", ".join(packages_in(states, SchemaState.NEWER)):
        raise StartRefused(f"the database is newer than this code ({names}); install the newer version of modhub")
