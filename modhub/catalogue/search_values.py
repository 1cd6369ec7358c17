"""The words of a search as values of its statement: SQLite has two indexes for them, else they are for LIKE."""

import re
from typing import Any, Final

from modhub.catalogue.search_bitmaps import LONGEST
from modhub.folding import like_pattern

TRIGRAM: Final = 3
"""The minimum length of words that a trigram index can find."""
LONGEST_PART: Final = 8
"""The maximum length of words that SQLite's index of parts can find."""
_TRIGRAM: Final = re.compile(rf"[^\W_]{{{TRIGRAM}}}")
"""What PostgreSQL's index of trigrams needs of a word: it ignores all other characters."""
_PART: Final = re.compile(rf"[^\x00-\x20\x7f]{{1,{LONGEST_PART}}}")


def search_values(words: list[str], dialect: str, *, newest: bool, parts: bool) -> dict[str, Any]:
    """Return ``match`` for the index of trigrams, ``parts`` for that of parts, and ``word0``, … for LIKE.

    ``short0``, … are for LIKE too, and no index of PostgreSQL finds them; ``common0``, … for its bitmaps, which only
    count. ``parts`` are all words or none. They only count and find hits; the order ``newest`` comes from the trigrams.
    """
    if dialect != "sqlite":
        # Its index works with LIKE.
        short = [word for word in words if not _TRIGRAM.search(word)]
        counted = words if parts and all(len(word) <= LONGEST for word in words) else []
        return (
            _scanned([word for word in words if word not in short])
            | _scanned(short, "short")
            | {f"common{index}": word for index, word in enumerate(counted)}
        )
    indexed = [word for word in words if len(word) >= TRIGRAM]
    values: dict[str, Any] = {}
    if parts and words and all(map(_PART.fullmatch, words)):
        values["parts"] = " AND ".join(map(_part, words))
        if not newest or len(indexed) < len(words):
            # In the order of an index the first hits are found soon, unless trigrams have to be looked up for all mods.
            indexed = []
    if indexed:
        values["match"] = " AND ".join(map(_quoted, indexed))
    return values | _scanned([word for word in words if word not in indexed])


def _scanned(words: list[str], name: str = "word") -> dict[str, Any]:
    return {f"{name}{index}": like_pattern(word) for index, word in enumerate(words)}


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _part(word: str) -> str:
    """The word as the beginning of a part; a part has at most eight characters."""
    return _quoted(word) + " *" * (len(word) < LONGEST_PART)
