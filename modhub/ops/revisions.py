"""The revisions of a package's tables: those in its files, and the one in the database. Without alembic.

Every start compares the two. Importing alembic would take a tenth of it, and 8 MB.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, column, inspect, select, table

from modhub.declarations import Migrations

_STATED = {"revision", "down_revision", "compatible_with"}


class KnownRevision(NamedTuple):
    """What a migration says about itself: the revisions before it, and the oldest whose code works with its result."""

    parents: tuple[str, ...] = ()
    compatible_with: str | None = None


def known_revisions(package: Migrations) -> dict[str, KnownRevision]:
    """Return the revisions of ``package``, as its files state them above their functions."""
    known = {}
    for path in sorted((Path(package.folder) / "versions").glob("*.py")):
        head = path.read_text("utf-8").partition("\ndef ")[0]  # parsing all of it would take ten times as long
        values = dict(_assignments(ast.parse(head)))
        if isinstance(values.get("revision"), str):
            before = values.get("down_revision") or ()
            parents = (before,) if isinstance(before, str) else tuple(before)
            known[values["revision"]] = KnownRevision(parents, values.get("compatible_with"))
    return known


def _assignments(module: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id in _STATED and node.value is not None:
                yield target.id, ast.literal_eval(node.value)


def newest_revisions(package: Migrations) -> tuple[str, ...]:
    """Return the revisions of ``package`` that no other follows: one, unless its history has branches."""
    return last_revisions(known_revisions(package))


def last_revisions(known: Mapping[str, KnownRevision]) -> tuple[str, ...]:
    """Return those of the ``known`` revisions that no other follows."""
    followed = {before for revision in known.values() for before in revision.parents}
    return tuple(sorted(known.keys() - followed))


def with_ancestors(known: Mapping[str, KnownRevision], revisions: Iterable[str]) -> set[str]:
    """Return these of the ``known`` revisions and all before them."""
    lineage, queue = set[str](), list(revisions)
    while queue:
        revision = queue.pop()
        if revision not in lineage:
            lineage.add(revision)
            queue += known[revision].parents
    return lineage


def last_of_a_roll(package: Migrations, applied: Collection[str]) -> str:
    """Return the revision that a run of ``migrate`` brings a database with the ``applied`` ones to.

    It is the newest. But a run never expands and contracts: the last migrations wait for the next run if they drop what
    the code before this run uses, so that its processes go on in the meantime (ADR 027).
    """
    known = known_revisions(package)
    heads, before = last_revisions(known), with_ancestors(known, applied)
    if not applied or len(heads) != 1:
        return "head"
    newest = heads[0]
    while known[newest].compatible_with in with_ancestors(known, known[newest].parents) - before:
        (newest,) = known[newest].parents
    return newest


def current_revisions(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """Return the revision of ``package`` in the database; none before the first migration."""
    if not inspect(connection).has_table(package.version_table):
        return ()
    return tuple(sorted(connection.scalars(select(column("version_num")).select_from(table(package.version_table)))))
