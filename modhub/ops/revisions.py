"""The revisions of a package's tables: those in its files, and the one in the database. Without alembic.

Every start compares the two. Importing alembic would take a tenth of it, and 8 MB.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, column, inspect, select, table

from modhub.declarations import Migrations


def known_revisions(package: Migrations) -> dict[str, tuple[str, ...]]:
    """Return the revisions before each revision of ``package``, as its files state them above their functions."""
    parents = {}
    for path in sorted((Path(package.folder) / "versions").glob("*.py")):
        head = path.read_text("utf-8").partition("\ndef ")[0]  # parsing all of it would take ten times as long
        values = dict(_assignments(ast.parse(head)))
        if isinstance(values.get("revision"), str):
            before = values.get("down_revision") or ()
            parents[values["revision"]] = (before,) if isinstance(before, str) else tuple(before)
    return parents


def _assignments(module: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id in {"revision", "down_revision"} and node.value is not None:
                yield target.id, ast.literal_eval(node.value)


def newest_revisions(package: Migrations) -> tuple[str, ...]:
    """Return the revisions of ``package`` that no other follows: one, unless its history has branches."""
    return last_revisions(known_revisions(package))


def last_revisions(known: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return those of the ``known`` revisions that no other follows."""
    followed = {before for revisions in known.values() for before in revisions}
    return tuple(sorted(known.keys() - followed))


def current_revisions(connection: Connection, package: Migrations) -> tuple[str, ...]:
    """Return the revision of ``package`` in the database; none before the first migration."""
    if not inspect(connection).has_table(package.version_table):
        return ()
    return tuple(sorted(connection.scalars(select(column("version_num")).select_from(table(package.version_table)))))
