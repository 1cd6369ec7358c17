"""The games of the front: how many mods each has, and a picture of one of them."""

from typing import Final, NamedTuple

from sqlalchemy import bindparam, exists, func, select

from modhub.base.public_cache import PublicCache
from modhub.catalogue.models import Asset, AssetKind, Game, PublicGame, PublicMod
from modhub.catalogue.pages.queries.statements import image_facts
from modhub.catalogue.queries import AnySelect
from modhub.db.raw_queries import RawQueryExecutor

TILES: Final = 12
"""Games on the front; the others are behind "All games"."""
_OVERHEAD: Final = 500


class GameTile(NamedTuple):
    """A curated game with mods; ``document`` is that of the mod whose picture is shown, None without one."""

    folded: str
    mods: int
    document: bytes | None
    image_facts: str | None


def game_tiles_statement() -> AnySelect:
    """(folded name, number of mods, document, facts of the images) of the ``size`` games with the most mods.

    The document is that of the mod with an image that was changed last.
    """
    number = select(func.count()).where(PublicGame.folded == Game.folded).correlate(Game).scalar_subquery()
    games = select(Game.folded, number.label("mods")).order_by(number.desc(), Game.folded).limit(bindparam("size"))
    listed = games.subquery()
    of_game = select(PublicGame.mod_id).where(PublicGame.folded == listed.c.folded)
    has_image = exists().where(Asset.mod_id == PublicGame.mod_id, Asset.kind == AssetKind.IMAGE.value)
    newest = of_game.where(has_image).order_by(PublicGame.updated_at.desc(), PublicGame.mod_id.desc()).limit(1)
    pictured = newest.correlate(listed).scalar_subquery()
    columns = (listed.c.folded, listed.c.mods, PublicMod.document, image_facts())
    joined = select(*columns).outerjoin(PublicMod, PublicMod.id == pictured).where(listed.c.mods > 0)
    return joined.order_by(listed.c.mods.desc(), listed.c.folded)


class GameTiles:
    """Reads the tiles, and keeps them until something changes that everybody sees; one per application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        self._statement = reader.prepare(game_tiles_statement())

    def read(self, cache: PublicCache) -> tuple[GameTile, ...]:
        """Return the games with the most mods, the largest first."""
        return cache.get_or_make(("game tiles",), self._make, _size_of)

    def _make(self) -> tuple[GameTile, ...]:
        rows = self._reader.rows(self._statement, size=TILES)
        return tuple(GameTile(row[0], row[1], row[2] and bytes(row[2]), row[3]) for row in rows)


def _size_of(tiles: tuple[GameTile, ...]) -> int:
    return sum(len(tile.document or b"") + len(tile.image_facts or "") + _OVERHEAD for tile in tiles)
