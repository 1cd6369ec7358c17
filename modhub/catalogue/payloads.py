"""The request bodies of the catalogue, and how their fields are cleaned (interface, "Resources"; decisions 1.5, 2)."""

from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from modhub import limits, text
from modhub.errors import invalid
from modhub.folding import fold_game
from modhub.markup import clean

Text = str | None | UnsetType
Texts = list[str] | None | UnsetType


def _title(value: str) -> str:
    title = text.line(value, limits.TITLE)
    if not title:
        raise invalid("The field %(field)s must not be empty.", field="title")
    return title


def clean_games(games: list[str]) -> list[str]:
    """A set of games in the order sent: trimmed, none empty, merged by identity, the first 20 (decisions 2.3)."""
    kept: dict[str, str] = {}
    for game in games:
        name = text.line(game, limits.GAME)
        if name:
            kept.setdefault(fold_game(name), name)
    return list(kept.values())[: limits.GAMES]


class ModChange(Struct, rename="camel"):
    """``PUT /api/modhub/{id}``: only what was sent is changed."""

    title: Text = UNSET
    description: Text = UNSET
    games: Texts = UNSET
    requires: Texts = UNSET
    conflicts_with: Texts = UNSET

    def clean_title(self) -> str | None:
        """The title to store; None when it was not sent."""
        return _title(self.title) if isinstance(self.title, str) else None

    def clean_description(self) -> str | None:
        """The description to store; None when it was not sent."""
        return clean(self.description, limits.DESCRIPTION) if isinstance(self.description, str) else None

    def clean_games(self) -> list[str] | None:
        """The games to store; None when they were not sent."""
        return clean_games(self.games) if isinstance(self.games, list) else None

    def requires_or_none(self) -> list[str] | None:
        """The GUIDs as sent."""
        return self.requires if isinstance(self.requires, list) else None

    def conflicts_or_none(self) -> list[str] | None:
        """The GUIDs as sent."""
        return self.conflicts_with if isinstance(self.conflicts_with, list) else None


class NewMod(ModChange):
    """``POST /api/modhub``: the title is required."""

    def clean_title(self) -> str:
        """The title to store; 400 when there is none."""
        if not isinstance(self.title, str):
            raise invalid("The field %(field)s is required.", field="title")
        return _title(self.title)


class NoteChange(Struct):
    """``PUT /api/modhub/{id}/changelog/{noteId}``: ``null`` clears the title (decisions 2.18)."""

    nullable: ClassVar[frozenset[str]] = frozenset({"title"})

    title: Text = UNSET
    text: Text = UNSET

    def clean_title(self) -> str | UnsetType | None:
        """The title to store."""
        if not isinstance(self.title, str):
            return self.title
        return text.line(self.title, limits.TITLE) or None

    def clean_text(self) -> str | UnsetType:
        """The text to store."""
        return clean(self.text, limits.NOTE) if isinstance(self.text, str) else UNSET


class VoteChange(Struct):
    """``PUT /api/modhub/{id}/vote``"""

    value: Literal[1, 0, -1]
