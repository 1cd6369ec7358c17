"""The curated games as pages show them."""

from dataclasses import dataclass

from modhub.catalogue.read_service import games_of
from modhub.content.folding import fold_game
from modhub.db.raw_queries import Row


@dataclass(frozen=True, slots=True)
class CuratedGame:
    """A curated game."""

    name: str
    display_name: str
    icon: str | None


class CuratedGames(dict[str, CuratedGame]):
    """The curated games by folded name, in display order. Hashed by identity, so that it can be part of a cache key."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, rows: tuple[Row, ...]) -> None:
        games = [CuratedGame(game.name, game.display_name, game.icon_url) for game in games_of(rows)]
        super().__init__((fold_game(game.name), game) for game in games)
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return self is other
