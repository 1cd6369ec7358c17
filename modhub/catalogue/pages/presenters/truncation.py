"""What was lost of what was typed: over-long text is trimmed, not refused (C-UP-11), and a page says so."""

from collections.abc import Mapping
from typing import Any

from modhub import limits, text
from modhub.catalogue.request_schemas import MAX_GAMES_EXAMINED, CleanedMod, CleanedNote, NoteChange
from modhub.folding import fold_game
from modhub.markup import clean

_GROWTH = 8
"""How much longer a text can become by escaping."""
_NORMAL = 4
"""How much longer it can become by normalisation."""


def whole_line(typed: str) -> str:
    """A single line as it would be kept if there were no limit."""
    return text.line(typed, _NORMAL * len(typed))


def line_lost(typed: str, stored: str | None) -> bool:
    """Whether a single line lost its end."""
    return whole_line(typed) != (stored or "")


def html_lost(typed: str, stored: str, limit: int) -> bool:
    """Whether a text lost its end, as it came or when its ``&`` and ``<`` were escaped."""
    whole = text.block(typed, _NORMAL * len(typed))
    if len(whole) > limit:
        return True
    return len(whole) * _GROWTH > limit and clean(whole, limit * _GROWTH) != stored


def games_lost(typed: list[str]) -> bool:
    """Whether a game's name lost its end, or games were left out."""
    different = dict.fromkeys(typed)
    if len(different) > MAX_GAMES_EXAMINED:
        return True
    names = [whole_line(game) for game in different]
    kept = {fold_game(name) for name in names if name}
    return len(kept) > limits.GAMES or any(len(name) > limits.GAME for name in names)


def details_lost(given: Mapping[str, Any], cleaned: CleanedMod) -> list[str]:
    """Which fields of ``given`` are not as they were typed, once ``cleaned``."""
    lost = {
        "title": "title" in given and line_lost(given["title"], cleaned.title),
        "description": "description" in given
        and html_lost(given["description"], cleaned.description or "", limits.DESCRIPTION),
        "games": games_lost(given.get("games", [])),
    }
    return [name for name, is_lost in lost.items() if is_lost]


def note_lost(given: NoteChange, cleaned: CleanedNote) -> list[str]:
    """Which fields of a changelog entry are not as they were typed, once ``cleaned``."""
    lost = {
        "title": isinstance(given.title, str) and line_lost(given.title, cleaned.title or None),
        "text": isinstance(given.text, str) and html_lost(given.text, cleaned.text or "", limits.NOTE),
    }
    return [name for name, is_lost in lost.items() if is_lost]
