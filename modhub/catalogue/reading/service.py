"""Anonymous reads: lists, mods with their install chains, changelogs, games, files. Uses only the public tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from modhub.base.composed_body import ComposedBody
from modhub.catalogue.documents import CaptionDocument, GameDocument, caption_document
from modhub.catalogue.models import AssetKind, PublicMod
from modhub.catalogue.owning.successors import SupersededDocument, successor_document, with_successor
from modhub.catalogue.reading import lists, statements
from modhub.catalogue.reading.chains import PublicMods, compose_changelog
from modhub.catalogue.reading.lists import ListVariant, has_short, search_values
from modhub.catalogue.reading.statements import AnySelect, file_of
from modhub.content import limits
from modhub.content.folding import fold_game, fold_search, search_words
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.declarations import Declarations
from modhub.web.downloads import A_DAY, IMMUTABLE, REVALIDATE, StoredFile
from modhub.web.payload import encode

ListStatement = Callable[[ListVariant], AnySelect]


@dataclass(frozen=True, slots=True)
class ListParams:
    """The effective parameters of a list (C-LIST-2)."""

    q: str = ""
    game: str = ""
    sort: str = "new"
    page: int = 1
    size: int = limits.PAGE_SIZE
    filters: tuple[tuple[str, str], ...] = ()
    """Of pages alone: the names of features' filters (`ModColumn`) with their values."""
    front: bool = False
    """Whether it is a row of the front, without the mods that features leave out there."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of a list: its documents and the total number of hits."""

    documents: list[bytes]
    total: int
    params: ListParams

    @property
    def more(self) -> bool:
        """Whether there is a next page."""
        return self.params.page * self.params.size < self.total

    def body(self) -> bytes:
        """The response body of ``GET /api/modhub``."""
        params = self.params
        head = b'{"count":%d,"total":%d,"page":%d,"size":%d,"more":%s,"mods":[' % (
            len(self.documents),
            self.total,
            params.page,
            params.size,
            b"true" if self.more else b"false",
        )
        return head + b",".join(self.documents) + b"]}"


class ModFile(NamedTuple):
    """A file of a published mod."""

    file: StoredFile
    kind: AssetKind
    asset_id: int
    mod_id: int
    guid: str
    title: str
    version: str
    """The mod's version, which is that of its code file (C-UP-5)."""


_SUCCESSOR: Final = PreparedQuery(with_successor(PublicMod))
MAX_LISTS: Final = 256
"""Variants of the list whose statements are kept; callers can ask for about as many."""


class CatalogueReader(PublicMods):
    """Reads published mods; one per application."""

    def __init__(self, reader: RawQueryExecutor, declared: Declarations) -> None:
        """``declared`` is complete when the first list is read."""
        super().__init__(reader)
        self.declared = declared
        self._prepared = lru_cache(MAX_LISTS)(self._prepare)

    def find(self, params: ListParams) -> ResultPage:
        """Return one page of published mods."""
        total, rows = self.rows(params, lists.page_statement)
        return ResultPage([bytes(row[0]) for row in rows], total, params)

    def rows(self, params: ListParams, page: ListStatement) -> tuple[int, list[Row]]:
        """Return (total number of hits, rows of one page); ``page`` builds the statement for a variant."""
        variant, values = self._variant_of(params)
        if variant.filters and (variant.game or variant.has_words):
            variant = replace(variant, by_filter=self._has_filter_fewer(variant, values))
        if variant.game and variant.has_index and not variant.by_filter:
            variant = replace(variant, by_game=self._has_game_fewer(variant, values))
        total = self.reader.rows(self._prepared(lists.total_statement, variant), **values)[0][0]
        offset = (params.page - 1) * params.size
        if offset >= total:
            return total, []
        if not (variant.is_in_order or variant.by_game):
            variant = replace(variant, walks=self._walks(variant, total, offset + params.size))
        return total, self._page_rows(page, variant, values, params.size, offset)

    def first_rows(self, params: ListParams, page: ListStatement) -> list[Row]:
        """Return the first rows of a list of all mods, without their number."""
        variant, values = self._variant_of(params)
        return self._page_rows(page, replace(variant, walks=True), values, params.size, 0)

    def _page_rows(
        self, page: ListStatement, variant: ListVariant, values: dict[str, Any], size: int, offset: int
    ) -> list[Row]:
        rows = self.reader.rows(self._prepared(page, variant), **values, size=size, offset=offset)
        if variant.order is not None and len(rows) < size:
            # Then those without a row in the table of the order.
            rest, skipped = replace(variant, ranked=False, walks=False), 0
            if offset and not rows:
                counted = replace(variant, walks=not variant.is_filtered)
                ranked = self.reader.rows(self._prepared(lists.ranked_total_statement, counted), **values)[0][0]
                skipped = max(0, offset - ranked)
            rows += self.reader.rows(self._prepared(page, rest), **values, size=size - len(rows), offset=skipped)
        return rows

    def _has_game_fewer(self, variant: ListVariant, values: dict[str, Any]) -> bool:
        """Whether the game has no more mods than the words, so that comparing each of them reads less."""
        in_game = self._prepared(lists.total_statement, ListVariant(game=True))
        return self._has_fewer(in_game, replace(variant, game=False, top=False, filters=()), values)

    def _has_filter_fewer(self, variant: ListVariant, values: dict[str, Any]) -> bool:
        """Whether a filter's value has no more mods than words and game."""
        chosen = self._prepared(lists.filtered_total_statement, ListVariant(filters=variant.filters[:1]))
        return self._has_fewer(chosen, replace(variant, filters=(), top=False, order=None), values)

    def _has_fewer(self, counted: PreparedQuery, others: ListVariant, values: dict[str, Any]) -> bool:
        count: int = self.reader.rows(counted, **values)[0][0]
        limited = self._prepared(lists.limited_total_statement, others)
        return bool(self.reader.rows(limited, **values, size=count)[0][0] == count)

    def _walks(self, variant: ListVariant, hits: int, needed: int) -> bool:
        """Whether to read mods in the order of the list until ``needed`` hits were met, and not all hits.

        One of ``published / hits`` mods is a hit: so that reads ``needed * published / hits`` mods.
        """
        if not variant.is_filtered:
            return True
        published: int = self.reader.rows(self._prepared(lists.total_statement, ListVariant()))[0][0]
        return needed * published < hits**2

    def _variant_of(self, params: ListParams) -> tuple[ListVariant, dict[str, Any]]:
        words, game = search_words(params.q), fold_game(params.game)
        values = search_values(words, self.reader.dialect)
        variant = ListVariant(
            top=params.sort == "top",
            game=bool(game),
            words=sum(name.startswith("word") for name in values),
            rest="rest" in values,
            match="match" in values,
            short=self.reader.dialect == "sqlite" and has_short(words),
            order=self.declared.mod_columns.get(params.sort),
            filters=tuple(self.declared.mod_columns[name] for name, _ in params.filters),
            left_out=self.declared.off_front if params.front else (),
        )
        chosen = {lists.filter_parameter(name): value for name, value in params.filters}
        return variant, values | chosen | ({"game": game} if game else {})

    def _prepare(self, build: ListStatement, variant: ListVariant) -> PreparedQuery:
        return PreparedQuery(build(variant))

    def changelog(self, mod_id: int | None) -> ComposedBody | None:
        """Return the body of ``GET /api/modhub/{id}/changelog``; None if the mod is not published. Two statements."""
        if mod_id is None:
            return None
        rows = self.reader.rows(statements.NOTE_STATES, id=mod_id)
        return compose_changelog(self.reader, mod_id, rows) if rows else None

    def votes(self, mod_id: int | None) -> tuple[int, int] | None:
        """Return (ups, downs); None if the mod is not published."""
        row = self._row(statements.VOTES, id=mod_id)
        return None if row is None else (row[0], row[1])

    def games(self) -> list[GameDocument]:
        """Return the curated games in display order."""
        return [GameDocument(name, shown, icon_address(icon)) for name, shown, icon, *_ in self.game_rows()]

    def game_rows(self) -> list[Row]:
        """Return the rows of the curated games by the name that is shown."""
        return sorted(self.reader.rows(statements.GAMES), key=lambda row: (fold_search(row[1]), row[0]))

    def asset(self, asset_id: int | None) -> ModFile | None:
        """Return a file of a published mod."""
        row = self._row(statements.ASSET, id=asset_id)
        return None if row is None else mod_file_of(row)

    def code(self, mod_id: int | None) -> ModFile | None:
        """Return the code file of a published mod."""
        row = self._row(statements.CODE, id=mod_id)
        return None if row is None else mod_file_of(row)

    def codes(self, guids: Sequence[str]) -> list[ModFile]:
        """Return the code files of these published mods, in any order."""
        return [mod_file_of(row) for row in self.reader.rows(statements.CODES, guids=encode(guids).decode())]

    def superseded(self, mod_id: int | None) -> SupersededDocument | None:
        """Return which mod supersedes a published one; None if the mod itself is not published."""
        row = self._row(_SUCCESSOR, id=mod_id)
        return None if row is None else SupersededDocument(successor_document(row[1]))

    def picture(self, asset_id: int | None, name: str | None) -> StoredFile | None:
        """Return a derived picture of an image of a published mod; cached as the image itself."""
        row = self._row(statements.PICTURE, id=asset_id, name=name)
        return None if row is None else file_of(row, inline=True, cache_control=A_DAY)

    def sized_picture(self, asset_id: int | None, width: str, content_types: Sequence[str]) -> StoredFile | None:
        """Return the picture of this width in the first of these types, or the image itself while there is none.

        None if there is no such image, or its mod is not published.
        """
        rows = [] if asset_id is None else self.reader.rows(statements.PICTURES, id=asset_id, start=f"{width}-")
        by_type = {row[4]: row for row in rows}
        row = next((by_type[content_type] for content_type in content_types if content_type in by_type), None)
        if row is not None:
            return replace(file_of(row, inline=True, cache_control=A_DAY), negotiated=True)
        original = self.asset(asset_id)
        if original is None or original.kind is not AssetKind.IMAGE:
            return None
        return replace(original.file, cache_control=REVALIDATE, negotiated=True)

    def captions(self, mod_id: int | None) -> list[CaptionDocument] | None:
        """Return the captions of all images in the owner's order; None if the mod is not published."""
        rows = [] if mod_id is None else self.reader.rows(statements.CAPTIONS, id=mod_id)
        if not rows:
            return None
        return [caption_document(asset_id, caption) for asset_id, caption in rows if asset_id is not None]

    def icon(self, icon_id: int | None) -> StoredFile | None:
        """Return the icon of a curated game; a new icon has a new address."""
        row = self._row(statements.ICON, id=icon_id)
        return None if row is None else file_of(row, inline=True, cache_control=IMMUTABLE)

    def _row(self, statement: PreparedQuery, **values: Any) -> Row | None:
        """Return the first row; None without one, and without a statement for an id or a name that nothing can have."""
        rows = [] if None in values.values() else self.reader.rows(statement, **values)
        return rows[0] if rows else None


def mod_file_of(row: Row) -> ModFile:
    """Build a file of a mod from a row of a files statement.

    Images are cached for a day; code and css can be replaced in place.
    """
    kind, *rest = row[6:]
    is_image = kind == AssetKind.IMAGE
    file = file_of(row, inline=is_image, cache_control=A_DAY if is_image else REVALIDATE)
    return ModFile(file, AssetKind(kind), *rest)


def icon_address(icon: int | None) -> str | None:
    """Return where the icon with this id is."""
    return None if icon is None else f"/Modhub/game-icon/{icon}"
