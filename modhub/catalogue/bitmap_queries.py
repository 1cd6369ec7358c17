"""The total of a search on PostgreSQL, by its bitmaps where these have all words."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
)
from sqlalchemy.sql.expression import ColumnElement

from modhub.catalogue.models import PublicText
from modhub.catalogue.search_bitmaps import BLOCK_MODS

MAX_CHANGES: Final = 5000
"""Changes that were not taken in yet; with more of them the texts are read as if there were no bitmaps."""
_BITMAP = table("fts_core_bitmap", column("part"), column("block"), column("hits"))
_PART = table("fts_core_bitmap_part", column("part"))
_CHANGE = table("fts_core_bitmap_change", column("mod_id"))
_ONE_BIT: Final[Any] = literal_column(
    f"~bit_or(set_bit(CAST(repeat('0', {BLOCK_MODS}) AS bit({BLOCK_MODS})), CAST(mod_id % {BLOCK_MODS} AS int), 1))"
)
_ALL_BITS: Final[Any] = literal_column(f"CAST(repeat('1', {BLOCK_MODS}) AS bit({BLOCK_MODS}))")


def bitmap_total(words: int, counted: ScalarSelect[int]) -> Select[int]:
    """The number of mods with ``common0``, … in their text; ``counted`` where the bitmaps cannot tell."""
    parts: list[Any] = [bindparam(f"common{number}") for number in range(words)]
    known = select(func.count()).select_from(_PART).where(_PART.c.part.in_(parts)).scalar_subquery()
    some_changes = select(_CHANGE.c.mod_id).limit(MAX_CHANGES + 1).subquery()
    changes = select(func.count()).select_from(some_changes).scalar_subquery()
    total = _unchanged(parts) + _changed(parts)
    # The branch that is not taken costs nothing.
    return select(case((and_(known == words, changes <= MAX_CHANGES), total), else_=counted))


def _unchanged(parts: list[Any]) -> ScalarSelect[int]:
    """The hits of the bitmaps, without mods that have changed since."""
    block: ColumnElement[int] = literal_column(f"mod_id / {BLOCK_MODS}")
    unchanged = select(block.label("block"), _ONE_BIT.label("mods")).select_from(_CHANGE).group_by(block).subquery()
    bitmaps = [_BITMAP.alias(f"hits{number}") for number in range(len(parts))]
    first, *others = bitmaps
    source: Any = first
    hits: Any = first.c.hits
    for other in others:
        source = source.join(other, other.c.block == first.c.block)
        hits = hits.op("&")(other.c.hits)
    source = source.outerjoin(unchanged, unchanged.c.block == first.c.block)
    hits = hits.op("&")(func.coalesce(unchanged.c.mods, _ALL_BITS))
    has_parts = [bitmap.c.part == part for bitmap, part in zip(bitmaps, parts, strict=True)]
    # The sum of bigint is numeric, which the driver returns as Decimal.
    total = select(cast(func.coalesce(func.sum(func.bit_count(hits)), 0), BigInteger)).select_from(source)
    return total.where(*has_parts).scalar_subquery()


def _changed(parts: list[Any]) -> ScalarSelect[int]:
    """The hits among the mods that have changed since, whose texts tell; those that are gone have none."""
    changed = select(_CHANGE.c.mod_id).distinct().subquery()
    joined = select(func.count()).select_from(changed).join(PublicText, PublicText.mod_id == changed.c.mod_id)
    return joined.where(*(func.strpos(PublicText.text, part) > 0 for part in parts)).scalar_subquery()
