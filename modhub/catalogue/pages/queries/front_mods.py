"""The mods and games of the front."""

from functools import cached_property
from typing import Final, NamedTuple

from sqlalchemy import exists, func, select

from modhub.catalogue.list_queries import total_statement
from modhub.catalogue.models import Asset, AssetKind, Game, PublicGame, PublicMod
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.card_queries import Listing
from modhub.catalogue.pages.queries.page_queries import PageReader
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.read_service import ListParams
from modhub.db.raw_queries import PreparedQuery

MODS_IN_ROW: Final = 5
"""Mods of a row."""
TILES: Final = 12
"""Games on the front; the others are behind "All games"."""


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


def game_tiles_statement() -> AnySelect:
    """(folded name, number of mods, document of a mod, facts of its images) of the `TILES` games with the most mods.

    The mod is the one with an image that was changed last.
    """
    number = select(func.count()).where(PublicGame.folded == Game.folded).correlate(Game).scalar_subquery()
    games = select(Game.folded, number.label("mods")).order_by(number.desc(), Game.folded).limit(TILES)
    listed = games.subquery()
    of_game = select(PublicGame.mod_id).where(PublicGame.folded == listed.c.folded)
    has_image = exists().where(Asset.mod_id == PublicGame.mod_id, Asset.kind == AssetKind.IMAGE.value)
    newest = of_game.where(has_image).order_by(PublicGame.updated_at.desc(), PublicGame.mod_id.desc()).limit(1)
    pictured = newest.correlate(listed).scalar_subquery()
    columns = (listed.c.folded, listed.c.mods, PublicMod.document, statements.image_facts())
    joined = select(*columns).outerjoin(PublicMod, PublicMod.id == pictured).where(listed.c.mods > 0)
    return joined.order_by(listed.c.mods.desc(), listed.c.folded)


class FrontReader:
    """Reads the front; one per application."""

    def __init__(self, pages: PageReader) -> None:
        """What features declare is complete with the configuration, so the statement of cards is made later."""
        self._pages = pages
        self._tiles = PreparedQuery(game_tiles_statement())

    @cached_property
    def _cards(self) -> PreparedQuery:
        """(place, number of published mods, columns of a card) of the newest, of the updated, and of the first ones."""
        left_out = self._pages.catalogue.declared.off_front
        picks = (
            statements.newest_ids(left_out, MODS_IN_ROW),
            statements.updated_ids(left_out, MODS_IN_ROW),
            statements.listed_ids(ListParams().size),
        )
        total = total_statement().scalar_subquery()
        return PreparedQuery(statements.placed_statement(picks, total, *self._pages.card_columns))

    def read(self) -> Front:
        """Return the front; two statements."""
        rows = self._pages.reader.rows(self._cards)
        newest, updated, listed = (
            self._pages.cards_of(row[2:] for row in rows if row[0] == place) for place in range(3)
        )
        tiles = [
            GameTile(folded, mods, document and bytes(document), document and image_facts)
            for folded, mods, document, image_facts in self._pages.reader.rows(self._tiles)
        ]
        return Front(newest, updated, Listing(listed, rows[0][1] if rows else 0, ListParams()), tiles)
