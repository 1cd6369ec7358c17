"""Detect which submitted fields were truncated: too long text is trimmed, not rejected (C-UP-11)."""

from collections.abc import Mapping
from typing import Any

from modhub.catalogue.request_schemas import MAX_GAMES_EXAMINED, CleanedMod, CleanedNote, NoteChange
from modhub.catalogue.written_texts import WrittenText
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.markup import clean

_GROWTH = 8
"""Maximum growth of a text by escaping."""
_NORMAL = 4
"""Maximum growth of a text by normalisation."""


def clean_unlimited_line(submitted: str) -> str:
    """Clean a single line without a limit."""
    return text.line(submitted, _NORMAL * len(submitted))


def is_line_truncated(submitted: str, stored: str | None) -> bool:
    """Whether a single line was truncated."""
    return clean_unlimited_line(submitted) != (stored or "")


def is_html_truncated(submitted: str, stored: str, limit: int) -> bool:
    """Whether an HTML text was truncated, before or after escaping ``&`` and ``<``."""
    cleaned_text = text.block(submitted, _NORMAL * len(submitted))
    if len(cleaned_text) > limit:
        return True
    return len(cleaned_text) * _GROWTH > limit and clean(cleaned_text, limit * _GROWTH) != stored


def are_games_truncated(submitted: list[str]) -> bool:
    """Whether a game's name was truncated, or games were dropped."""
    different = dict.fromkeys(submitted)
    if len(different) > MAX_GAMES_EXAMINED:
        return True
    names = [clean_unlimited_line(game) for game in different]
    folded = {fold_game(name) for name in names if name}
    return len(folded) > limits.GAMES or any(len(name) > limits.GAME for name in names)


def truncated_details(submitted: Mapping[str, Any], cleaned: CleanedMod) -> list[str]:
    """Return the names of the fields of ``submitted`` that cleaning truncated."""
    truncated = {
        "title": "title" in submitted and is_line_truncated(submitted["title"], cleaned.title),
        "description": "description" in submitted
        and is_html_truncated(submitted["description"], cleaned.description or "", limits.DESCRIPTION),
        "games": are_games_truncated(submitted.get("games", [])),
    }
    return [name for name, is_lost in truncated.items() if is_lost]


def truncated_note_fields(submitted: NoteChange, cleaned: CleanedNote, written: WrittenText | None) -> list[str]:
    """Return the names of the fields of a changelog entry that cleaning truncated; ``written``: what it is made of."""
    is_cut = written is not None and written.is_cut
    truncated = {
        "title": isinstance(submitted.title, str) and is_line_truncated(submitted.title, cleaned.title or None),
        "text": is_cut
        or (isinstance(submitted.text, str) and is_html_truncated(submitted.text, cleaned.text or "", limits.NOTE)),
    }
    return [name for name, is_lost in truncated.items() if is_lost]
