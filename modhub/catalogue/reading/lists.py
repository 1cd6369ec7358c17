"""Statements of lists and searches. Each starts from a public table, so that unpublished mods cannot be found."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Text,
    and_,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    select,
    table,
)
from sqlalchemy.sql.expression import ColumnElement

from modhub.catalogue.copies import PUBLISHED
from modhub.catalogue.models import (
    PublicCounter,
    PublicGame,
    PublicMod,
    PublicText,
)
from modhub.catalogue.reading.statements import AnySelect
from modhub.content.folding import like_pattern, like_patterns
from modhub.plugins.declarations import ModColumn

# The words of a search as values of its statement: for the database's index of trigrams, and for LIKE.
#
# A statement is compiled, planned and kept for each set of names, so there are few of those, however many words
# callers send: all words count (C-LIST-4), but not each has a name of its own.


TRIGRAM: Final = 3
"""The minimum length of words that a trigram index can find."""
MAX_INDEXED: Final = 4
"""Words that PostgreSQL looks up in its index: the longest. More hardly leave fewer hits, and are slow to plan."""
_TRIGRAM: Final = re.compile(rf"[^\W_]{{{TRIGRAM}}}")
"""What PostgreSQL's index of trigrams needs of a word: it ignores all other characters."""


def search_values(words: list[str], dialect: str) -> dict[str, Any]:
    """Return ``word0``, … for LIKE, ``match`` for SQLite's index, and ``rest``, which no index of PostgreSQL finds.

    SQLite's index has all words but the short ones (:func:`has_short`), and ``word0``, … are all words. PostgreSQL
    finds ``word0``, … in its index; ``rest`` is a list of patterns.
    """
    if dialect != "sqlite":
        indexed = sorted(filter(_TRIGRAM.search, words), key=len, reverse=True)[:MAX_INDEXED]
        rest = [like_pattern(word) for word in words if word not in indexed]
        return _named([like_pattern(word) for word in indexed]) | ({"rest": rest} if rest else {})
    match = " AND ".join(_quoted(word) for word in words if len(word) >= TRIGRAM)
    return _named(like_patterns(words)) | ({"match": match} if match else {})


def has_short(words: list[str]) -> bool:
    """Whether there is a word that SQLite's index of trigrams cannot find."""
    return any(len(word) < TRIGRAM for word in words)


def _named(patterns: list[str]) -> dict[str, Any]:
    return {f"word{index}": pattern for index, pattern in enumerate(patterns)}


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


_FTS = table("fts_core_text", column("rowid"))
_MATCHES: ColumnElement[bool] = literal_column("fts_core_text").op("MATCH")(bindparam("match"))
_HAS_REST: ColumnElement[bool] = PublicText.text.op("LIKE", is_comparison=True)(
    func.all(bindparam("rest", type_=ARRAY(Text)))
)


@dataclass(frozen=True, slots=True)
class ListVariant:
    """A variant of the list statement; each is compiled once and executed with different values."""

    top: bool = False
    game: bool = False
    words: int = 0
    """Number of words searched with LIKE in the folded text."""
    rest: bool = False
    """Whether PostgreSQL has more words for LIKE, for which it does not use its index of trigrams."""
    match: bool = False
    """Whether SQLite's index of trigrams finds mods; its rowid is the time of change."""
    short: bool = False
    """Whether SQLite's index of trigrams cannot find one of the words."""
    by_game: bool = False
    """Whether the game's mods are compared with the words one by one, because an index would find more mods."""
    filters: tuple[ModColumn, ...] = ()
    by_filter: bool = False
    """Whether the mods with the values of the filters are compared one by one, because words and games have more."""
    left_out: tuple[ModColumn, ...] = ()
    """For a row of the front: the mods that features leave out there."""
    order: ModColumn | None = None
    ranked: bool = True
    """Of an ``order``: its part with a row of the order's table, or the rest."""
    walks: bool = False
    """Whether mods are read in the order of the list until there are enough hits, instead of all hits: for many."""

    @property
    def has_words(self) -> bool:
        """Whether words are searched."""
        return self.words > 0 or self.rest

    @property
    def has_index(self) -> bool:
        """Whether an index of trigrams finds mods."""
        return not self.by_game and (self.match or (self.words > 0 and not self.short))

    @property
    def is_filtered(self) -> bool:
        """Whether not all mods are hits."""
        return self.has_words or self.game or bool(self.filters)

    @property
    def is_in_order(self) -> bool:
        """Whether an index has just the hits, and in the order of the list."""
        is_newest = not self.top and self.order is None and not self.filters
        by_index = self.match and not (self.short or self.game)
        return is_newest and (by_index or not self.has_words)


def filter_parameter(name: str) -> str:
    """The name of the parameter with the value of a feature's filter."""
    return f"filter_{name}"


def _has_value(column: ModColumn) -> ColumnElement[bool]:
    matches: ColumnElement[bool] = column.value == bindparam(filter_parameter(column.name))
    return matches


def _are_filtered(variant: ListVariant, mod_id: Any) -> list[ColumnElement[bool]]:
    """The conditions of features for a statement that reads all hits: the mods with a filter's value are read first."""
    filters = [mod_id.in_(select(chosen.mod_id).where(_has_value(chosen))) for chosen in variant.filters]
    return [*filters, *are_on_front(variant.left_out, mod_id)]


def are_on_front(left_out: Iterable[ModColumn], mod_id: Any) -> list[ColumnElement[bool]]:
    """The conditions for a mod of the front's rows (``off_front`` of a `ModColumn`)."""
    return [~exists().where(each.mod_id == mod_id, each.off_front) for each in left_out]


def _likes(variant: ListVariant) -> list[ColumnElement[bool]]:
    likes: list[ColumnElement[bool]] = [_HAS_REST] if variant.rest else []
    return [PublicText.text.like(bindparam(f"word{number}"), escape="\\") for number in range(variant.words)] + likes


def _hits(variant: ListVariant) -> AnySelect:
    """(id, updated_at, score) of all hits, unordered; the score only if the order needs it."""
    if variant.by_filter:
        everything = _everything().where(*_are_filtered(variant, PublicMod.id))
        return everything.where(*_are_hits(replace(variant, filters=()), PublicMod.id))
    if variant.game and not variant.has_index:
        source: Any = PublicGame
        mod_id, moment = PublicGame.mod_id, PublicGame.updated_at
        joined = select(mod_id.label("id"), moment.label("moment")).where(PublicGame.folded == bindparam("game"))
        joined = joined.where(*_are_hits(replace(variant, game=False), mod_id))
    elif variant.has_words:
        source = PublicText
        mod_id, moment = PublicText.mod_id, PublicText.updated_at
        joined = select(mod_id.label("id"), moment.label("moment"))
        if variant.game:
            joined = joined.join(PublicGame, PublicGame.mod_id == mod_id).where(PublicGame.folded == bindparam("game"))
        if variant.match:
            changed = PublicGame.updated_at if variant.game else moment
            joined = joined.where(changed.in_(select(_FTS.c.rowid).where(_MATCHES)))
        if variant.short or not variant.match:
            joined = joined.where(*_likes(variant))
        joined = joined.where(*_are_filtered(variant, mod_id))
    else:
        return _everything().where(*_are_filtered(variant, PublicMod.id))
    if variant.top:
        joined = joined.add_columns(PublicMod.score.label("score")).join(PublicMod, PublicMod.id == source.mod_id)
    return joined


def _everything() -> AnySelect:
    return select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment"), PublicMod.score.label("score"))


def _are_hits(variant: ListVariant, mod_id: Any) -> list[ColumnElement[bool]]:
    """The conditions for one mod after the other, by its id: no index of words or games is read."""
    conditions: list[ColumnElement[bool]] = []
    if variant.has_words:
        # As EXISTS PostgreSQL would join it, and expect few hits: it would read all texts, or all hits.
        has_words = select(and_(*_likes(variant))).where(PublicText.mod_id == mod_id)
        conditions.append(has_words.scalar_subquery())
    if variant.game:
        conditions.append(exists().where(PublicGame.mod_id == mod_id, PublicGame.folded == bindparam("game")))
    conditions += [exists().where(chosen.mod_id == mod_id, _has_value(chosen)) for chosen in variant.filters]
    return conditions + are_on_front(variant.left_out, mod_id)


_DOCUMENT: Final = (PublicMod.document,)


def page_statement(variant: ListVariant, columns: tuple[Any, ...] = _DOCUMENT) -> AnySelect:
    """One page of documents: ``size`` from ``offset`` on. Documents are read only for this page."""
    if variant.match and variant.is_in_order:
        # The rowid of the index is the time of change: the newest hits come straight from it.
        newest = select(_FTS.c.rowid.label("moment")).where(_MATCHES).order_by(_FTS.c.rowid.desc())
        page = newest.limit(bindparam("size")).offset(bindparam("offset")).subquery()
        joined = select(*columns).join(page, PublicMod.updated_at == page.c.moment)
        return joined.order_by(PublicMod.updated_at.desc(), PublicMod.id.desc())
    if variant.order is not None and variant.ranked:
        return _ranked_page(ranked_hits(variant, variant.order), columns)
    return newest_page(unranked(variant), columns, top=variant.top)


def newest_page(matches: AnySelect, columns: tuple[Any, ...], *, top: bool = False) -> AnySelect:
    """The ``columns`` of one page of what ``matches`` selects as ``id`` and ``moment`` (and ``score`` for ``top``)."""
    hits = matches.subquery()
    order: list[Any] = [hits.c.moment.desc(), hits.c.id.desc()]
    page_order: list[Any] = [PublicMod.updated_at.desc(), PublicMod.id.desc()]
    if top:
        order.insert(0, hits.c.score.desc())
        page_order.insert(0, PublicMod.score.desc())
    page = select(hits.c.id).order_by(*order).limit(bindparam("size")).offset(bindparam("offset")).subquery()
    return select(*columns).join(page, page.c.id == PublicMod.id).order_by(*page_order)


def unranked(variant: ListVariant) -> AnySelect:
    """(id, moment) of the hits; of an order only those without a row in its table, else with their score."""
    hits = _everything().where(*_are_hits(variant, PublicMod.id)) if variant.walks else _hits(variant)
    if variant.order is None:
        return hits
    matches = hits.subquery()
    return select(matches.c.id, matches.c.moment).where(~exists().where(variant.order.mod_id == matches.c.id))


def ranked_hits(variant: ListVariant, order: ModColumn) -> AnySelect:
    """(id, value) of the hits with a row in the table of the order, whose index is (value, id of the mod)."""
    if variant.walks:
        # A join would leave the choice to SQLite, which knows nothing about a table that was filled since ANALYZE.
        ranked = select(order.mod_id.label("id"), order.value.label("value"))
        ranked = ranked.where(exists().where(PublicMod.id == order.mod_id), *_are_hits(variant, order.mod_id))
    else:
        hits = _hits(variant).subquery()
        ranked = select(hits.c.id, order.value.label("value")).join(order.mod_id.class_, order.mod_id == hits.c.id)
    return ranked.order_by(order.value.desc(), order.mod_id.desc())


def _ranked_page(ranked: AnySelect, columns: tuple[Any, ...]) -> AnySelect:
    page = ranked.limit(bindparam("size")).offset(bindparam("offset")).subquery()
    joined = select(*columns).join(page, page.c.id == PublicMod.id)
    return joined.order_by(page.c.value.desc(), PublicMod.id.desc())


def ranked_total_statement(variant: ListVariant) -> AnySelect:
    """The number of hits with a row in the table of the variant's order."""
    assert variant.order is not None
    return select(func.count()).select_from(ranked_hits(variant, variant.order).order_by(None).subquery())


def filtered_total_statement(variant: ListVariant) -> AnySelect:
    """The number of rows with the value of the variant's first filter, of mods that are not published too."""
    chosen = variant.filters[0]
    return select(func.count()).select_from(chosen.mod_id.class_).where(_has_value(chosen))


def limited_total_statement(variant: ListVariant) -> AnySelect:
    """The number of hits of a variant with words or a game, ``size`` at most."""
    return select(func.count()).select_from(_hits(variant).limit(bindparam("size")).subquery())


def total_statement(variant: ListVariant = ListVariant()) -> AnySelect:
    """The total number of hits."""
    if not variant.is_filtered:
        return select(PublicCounter.value).where(PublicCounter.name == PUBLISHED)
    if variant.match and not (variant.short or variant.game or variant.filters):
        return select(func.count()).select_from(_FTS).where(_MATCHES)
    return select(func.count()).select_from(_hits(replace(variant, top=False)).subquery())
