"""Statements about the stored JSON of published mods: rows of `StoredDocument`, install chains, the JSON itself."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import and_, bindparam, case, func, literal_column, select, true
from sqlalchemy.sql.expression import ColumnElement

from modhub.catalogue.lookup_queries import guid_is_listed, ids_in_order
from modhub.catalogue.models import PublicMod, PublicRequirement
from modhub.catalogue.queries import AnySelect
from modhub.db.changes import MOD, Generation, PublicChange

_FEED: Final = select(Generation.feed).scalar_subquery()


def _stored_columns(mod: Any) -> list[Any]:
    """The columns of `StoredDocument` without the GUID; the length of a document is known without reading it."""
    serial = _serial(mod.guid)
    feed = case((mod.id.is_not(None), _FEED))
    return [mod.id, func.length(mod.document), serial, mod.requires, mod.links, feed]


def _serial(guid: Any) -> Any:
    is_recorded = and_(PublicChange.key == guid, PublicChange.kind == MOD)
    return select(PublicChange.serial).where(is_recorded).scalar_subquery()


def measured_statement(dialect: str) -> AnySelect:
    """The published mods ``guids``."""
    return select(PublicMod.guid, *_stored_columns(PublicMod)).where(guid_is_listed(dialect))


def documents_statement(dialect: str) -> AnySelect:
    """(id, serial, document) of the published mods ``ids`` in this order, also of one that is listed twice."""
    listed = ids_in_order(dialect)
    joined = select(PublicMod.id, _serial(PublicMod.guid), PublicMod.document).select_from(listed)
    return joined.join(PublicMod, PublicMod.id == listed.c.id).order_by(listed.c.place)


def chain_statement(
    dialect: str, start: ColumnElement[bool] | None = None, columns: Callable[[Any], list[Any]] = _stored_columns
) -> AnySelect:
    """The mod ``id`` and, recursively, all that it requires: the GUID and the ``columns`` of a mod.

    All columns but ``guid`` are NULL for missing mods. ``start`` selects other mods to start from.
    """
    start = PublicMod.id == bindparam("id") if start is None else start
    reach = select(PublicMod.guid.label("guid"), PublicMod.id.label("id")).where(start).cte("reach", recursive=True)
    requirement = PublicRequirement.__table__
    required, edges = _looked_up(reach, requirement, requirement.c.mod_id == reach.c.id, dialect)
    required_id = select(PublicMod.id).where(PublicMod.guid == required.c.guid).correlate(required).scalar_subquery()
    reach = reach.union(select(required.c.guid, required_id).select_from(edges))
    public_mod = PublicMod.__table__
    mod, mods = _looked_up(reach, public_mod, public_mod.c.id == reach.c.id, dialect, outer=True)
    return select(reach.c.guid, *columns(mod.c)).select_from(mods)


def chains_statement(dialect: str, columns: Callable[[Any], list[Any]] = _stored_columns) -> AnySelect:
    """The same of the mods ``guids``."""
    return chain_statement(dialect, guid_is_listed(dialect), columns)


def _looked_up(source: Any, target: Any, matches: Any, dialect: str, *, outer: bool = False) -> tuple[Any, Any]:
    """Return (the rows of ``target``, ``source`` joined with them): looked up one by one, by an index.

    In a join PostgreSQL would hash the whole table; OFFSET prevents that it turns the lookup into a join.
    """
    if dialect == "sqlite":
        return target, source.join(target, matches, isouter=outer)
    rows = select(target).where(matches).offset(literal_column("0")).lateral()
    return rows, source.join(rows, true(), isouter=outer)
