"""The words of a search as values of its statement: for the database's index of trigrams, and for LIKE.

A statement is compiled, planned and kept for each set of names, so there are few of those, however many words callers
send: all words count (C-LIST-4), but not each has a name of its own.
"""

import re
from typing import Any, Final

from modhub.content.folding import like_pattern, like_patterns

TRIGRAM: Final = 3
"""The minimum length of words that a trigram index can find."""
MAX_INDEXED: Final = 4
"""Words that PostgreSQL looks up in its index: the longest. More hardly leave fewer hits, and are slow to plan."""
_TRIGRAM: Final = re.compile(rf"[^\W_]{{{TRIGRAM}}}")
"""What PostgreSQL's index of trigrams needs of a word: it ignores all other characters."""


def search_values(words: list[str], dialect: str) -> dict[str, Any]:
    """Return ``word0``, … for LIKE, ``match`` for SQLite's index, and ``rest``, which no index of PostgreSQL finds.

    SQLite's index has all words but the short ones (:func:`has_short`), and ``word0``, … are all words. PostgreSQL
    finds ``word0``, … in its index; ``rest`` is a list of patterns.
    """
    if dialect != "sqlite":
        indexed = sorted(filter(_TRIGRAM.search, words), key=len, reverse=True)[:MAX_INDEXED]
        rest = [like_pattern(word) for word in words if word not in indexed]
        return _named([like_pattern(word) for word in indexed]) | ({"rest": rest} if rest else {})
    match = " AND ".join(_quoted(word) for word in words if len(word) >= TRIGRAM)
    return _named(like_patterns(words)) | ({"match": match} if match else {})


def has_short(words: list[str]) -> bool:
    """Whether there is a word that SQLite's index of trigrams cannot find."""
    return any(len(word) < TRIGRAM for word in words)


def _named(patterns: list[str]) -> dict[str, Any]:
    return {f"word{index}": pattern for index, pattern in enumerate(patterns)}


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
