"""The request bodies of the catalogue, and how their fields are cleaned (C-MOD-1; C-TXT-1, C-MOD-1)."""

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

from msgspec import UNSET, Struct, UnsetType

from modhub import limits, text
from modhub.catalogue.references import Lists
from modhub.errors import invalid
from modhub.folding import fold_game
from modhub.markup import clean

OptionalText = str | None | UnsetType
OptionalTexts = list[str] | None | UnsetType
MAX_GAMES_EXAMINED: Final = 50 * limits.GAMES
"""Different entries of a list of games that are looked at."""


def _title(value: str) -> str:
    title = text.line(value, limits.TITLE)
    if not title:
        raise invalid("The field %(field)s must not be empty.", field="title")
    return title


def clean_games(games: list[str]) -> list[str]:
    """A set of games in the order sent: trimmed, none empty, merged by identity, the first 20 (C-MOD-6).

    Of a list that is far too long the beginning alone is looked at: cleaning a body full of names takes seconds.
    """
    kept: dict[str, str] = {}
    for game in islice(dict.fromkeys(games), MAX_GAMES_EXAMINED):
        name = text.line(game, limits.GAME)
        if name:
            kept.setdefault(fold_game(name), name)
        if len(kept) == limits.GAMES:
            break
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class CleanedMod:
    """What was sent of a mod, cleaned and ready to be stored; None for what was not sent.

    Made before the first statement: cleaning takes milliseconds, in which nobody else should wait for a lock.
    ``lists`` is as sent, since its rules need the mod (:func:`modhub.catalogue.references.check_references`).
    """

    title: str | None
    description: str | None
    games: list[str] | None
    lists: Lists


@dataclass(frozen=True, slots=True)
class CleanedNote:
    """What was sent of a changelog entry, cleaned; ``UNSET`` for what was not sent, None for a title that goes."""

    title: str | UnsetType | None
    text: str | UnsetType


class ModChange(Struct, rename="camel"):
    """``PUT /api/modhub/{id}``: only what was sent is changed."""

    title: OptionalText = UNSET
    description: OptionalText = UNSET
    games: OptionalTexts = UNSET
    requires: OptionalTexts = UNSET
    conflicts_with: OptionalTexts = UNSET

    def words(self) -> CleanedMod:
        """What is to be stored; 400 for an empty title."""
        return CleanedMod(
            self.clean_title(),
            clean(self.description, limits.DESCRIPTION) if isinstance(self.description, str) else None,
            clean_games(self.games) if isinstance(self.games, list) else None,
            self.lists(),
        )

    def clean_title(self) -> str | None:
        """The title to store; None when it was not sent."""
        return _title(self.title) if isinstance(self.title, str) else None

    def lists(self) -> Lists:
        """The lists of GUIDs as sent."""
        requires, conflicts = self.requires, self.conflicts_with
        return Lists(
            requires if isinstance(requires, list) else None, conflicts if isinstance(conflicts, list) else None
        )


class NewMod(ModChange):
    """``POST /api/modhub``: the title is required."""

    def clean_title(self) -> str:
        """The title to store; 400 when there is none."""
        if not isinstance(self.title, str):
            raise invalid("The field %(field)s is required.", field="title")
        return _title(self.title)


class NoteChange(Struct):
    """``PUT /api/modhub/{id}/changelog/{noteId}``: ``null`` clears the title (C-NOTE-3)."""

    nullable: ClassVar[frozenset[str]] = frozenset({"title"})

    title: OptionalText = UNSET
    text: OptionalText = UNSET

    def words(self) -> CleanedNote:
        """What is to be stored."""
        return CleanedNote(
            (text.line(self.title, limits.TITLE) or None) if isinstance(self.title, str) else self.title,
            clean(self.text, limits.NOTE) if isinstance(self.text, str) else UNSET,
        )


class VoteChange(Struct):
    """``PUT /api/modhub/{id}/vote``"""

    value: float

    def vote(self) -> int:
        """1, 0 or -1, as a whole number or as one with nothing behind its point; else 400."""
        if self.value not in {1, 0, -1}:
            raise invalid("The field %(field)s must be 1, 0 or -1.", field="value")
        return int(self.value)
