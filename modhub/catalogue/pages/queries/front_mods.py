"""The mods and games of the front."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import exists, func, select

from modhub.catalogue.list_queries import total_statement
from modhub.catalogue.models import Asset, AssetKind, Game, PublicGame, PublicMod
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.card_queries import Listing
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.read_service import ListParams
from modhub.plugins.declarations import ModColumn

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


def front_statement(left_out: Sequence[ModColumn], columns: tuple[Any, ...]) -> AnySelect:
    """(place, number of published mods, ``columns``) of the newest mods, of the updated ones, and of the first ones."""
    newest, updated = statements.newest_ids(left_out, MODS_IN_ROW), statements.updated_ids(left_out, MODS_IN_ROW)
    picks = newest, updated, statements.listed_ids(ListParams().size)
    return statements.placed_statement(picks, total_statement().scalar_subquery(), *columns)
