"""The mods and games of the front.

Which they are, and their documents, changes only with the serial: it is kept. Votes, what features count and the
pictures that are made of images have no part in the serial, so they are read for each visitor, in one statement.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Final, NamedTuple

from sqlalchemy import bindparam, exists, func, select

from modhub.base.public_cache import PublicCache
from modhub.catalogue.list_queries import page_statement
from modhub.catalogue.lookup_queries import json_ids
from modhub.catalogue.models import Asset, AssetKind, Game, PublicGame, PublicMod
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.card_queries import Listing
from modhub.catalogue.pages.queries.page_queries import PageReader
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.read_service import ListParams
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.web.payload import encode

MODS_IN_ROW: Final = 5
"""Mods of a row."""
TILES: Final = 12
"""Games on the front; the others are behind "All games"."""
_KEPT: Final = (PublicMod.id, *statements.PUBLIC_COLUMNS)
_LISTED: Final = partial(page_statement, columns=_KEPT)
"""A constant: what is prepared for it is found again by it."""
_MORE_BYTES: Final = 1000
"""What a row takes beside its document, about."""


class GameTile(NamedTuple):
    """A curated game with mods; ``document`` is that of the mod whose picture is shown, None without one."""

    folded: str
    mods: int
    document: bytes | None
    image_facts: str | None


class Front(NamedTuple):
    """What the front shows."""

    newest: list[ModPresenter]
    """The mods that were created last."""
    updated: list[ModPresenter]
    """The mods with a new version, last changed first, without the newest."""
    listing: Listing
    """The first page of all mods."""
    tiles: list[GameTile]
    """The games with the most mods, the largest first."""


class _Kept(NamedTuple):
    newest: list[Row]
    updated: list[Row]
    total: int
    listed: list[Row]
    tiles: list[Row]


def game_tiles_statement() -> AnySelect:
    """(folded name, number of mods, id and document of a mod) of the ``size`` games with the most mods.

    The mod is the one with an image that was changed last.
    """
    number = select(func.count()).where(PublicGame.folded == Game.folded).correlate(Game).scalar_subquery()
    games = select(Game.folded, number.label("mods")).order_by(number.desc(), Game.folded).limit(bindparam("size"))
    listed = games.subquery()
    of_game = select(PublicGame.mod_id).where(PublicGame.folded == listed.c.folded)
    has_image = exists().where(Asset.mod_id == PublicGame.mod_id, Asset.kind == AssetKind.IMAGE.value)
    newest = of_game.where(has_image).order_by(PublicGame.updated_at.desc(), PublicGame.mod_id.desc()).limit(1)
    pictured = newest.correlate(listed).scalar_subquery()
    columns = (listed.c.folded, listed.c.mods, PublicMod.id, PublicMod.document)
    joined = select(*columns).outerjoin(PublicMod, PublicMod.id == pictured).where(listed.c.mods > 0)
    return joined.order_by(listed.c.mods.desc(), listed.c.folded)


class FrontReader:
    """Reads the front; one per application."""

    def __init__(self, pages: PageReader) -> None:
        """What features declare is complete with the configuration, so some statements are made later."""
        self._pages = pages
        self._declared, self._reader = pages.catalogue.declared, pages.reader
        self._tiles = self._reader.prepare(game_tiles_statement())

    @cached_property
    def _newest(self) -> PreparedQuery:
        return self._reader.prepare(statements.newest_statement(_KEPT, self._declared.front_exclusions.values()))

    @cached_property
    def _updated(self) -> PreparedQuery:
        return self._reader.prepare(statements.updated_statement(_KEPT, self._declared.front_exclusions.values()))

    @cached_property
    def _current(self) -> PreparedQuery:
        """What is not kept of the mods ``ids``."""
        ids = json_ids("ids", self._reader.dialect)
        figures = map(statements.figure_of, self._declared.card_figures.values())
        columns = (PublicMod.id, *statements.CURRENT_COLUMNS, *figures)
        return self._reader.prepare(select(*columns).where(PublicMod.id.in_(ids)))

    def read(self, cache: PublicCache) -> Front:
        """Return the front: two statements, and those for what is kept if that has changed."""
        kept = cache.get_or_make(("front",), self._make, _size_of)
        ids = {row[0] for row in (*kept.newest, *kept.updated, *kept.listed)} | {tile[2] for tile in kept.tiles}
        rows = self._reader.rows(self._current, ids=encode(sorted(ids - {None})).decode())
        current = {row[0]: row[1:] for row in rows}
        newest, updated, listed = (self._cards(part, current) for part in (kept.newest, kept.updated, kept.listed))
        tiles = [_tile(row, current) for row in kept.tiles]
        return Front(newest, updated, Listing(listed, kept.total, ListParams()), tiles)

    def _make(self) -> _Kept:
        total, listed = self._pages.catalogue.rows(ListParams(), _LISTED)
        newest = self._reader.rows(self._newest, size=MODS_IN_ROW)
        updated = self._reader.rows(self._updated, size=MODS_IN_ROW, newest=MODS_IN_ROW)
        return _Kept(newest, updated, total, listed, self._reader.rows(self._tiles, size=TILES))

    def _cards(self, kept: list[Row], current: Mapping[int, Row]) -> list[ModPresenter]:
        """The cards of the mods that are still published."""
        return self._pages.cards_of((*row[1:], *current[row[0]]) for row in kept if row[0] in current)


def _tile(row: Row, current: Mapping[int, Row]) -> GameTile:
    folded, mods, mod_id, document = row
    if mod_id not in current:
        return GameTile(folded, mods, None, None)
    return GameTile(folded, mods, bytes(document), current[mod_id][2])


def _size_of(kept: _Kept) -> int:
    documents = [row[1] for row in (*kept.newest, *kept.updated, *kept.listed)] + [row[3] for row in kept.tiles]
    return sum(len(document or b"") + _MORE_BYTES for document in documents)
