"""The words of a search as values of its statement: SQLite has two indexes for them, else they are for LIKE.

A statement is compiled, planned and kept for each set of names, so there are few of those, however many words callers
send: all words count (C-LIST-4), but not each has a name of its own.
"""

import re
from typing import Any, Final

from modhub.catalogue.search_bitmaps import LONGEST
from modhub.folding import like_pattern, like_patterns

MAX_INDEXED: Final = 4
"""Words that PostgreSQL looks up in its index: the longest. More hardly leave fewer hits, and are slow to plan."""
TRIGRAM: Final = 3
"""The minimum length of words that a trigram index can find."""
LONGEST_PART: Final = 8
"""The maximum length of words that SQLite's index of parts can find."""
_TRIGRAM: Final = re.compile(rf"[^\W_]{{{TRIGRAM}}}")
"""What PostgreSQL's index of trigrams needs of a word: it ignores all other characters."""
_PART: Final = re.compile(rf"[^\x00-\x20\x7f]{{1,{LONGEST_PART}}}")


def search_values(words: list[str], dialect: str, *, newest: bool, parts: bool) -> dict[str, Any]:
    """Return ``match`` for the index of trigrams, ``parts`` for that of parts, and ``word0``, … for LIKE.

    ``rest`` is a list of patterns for LIKE that PostgreSQL does not look up in its index; ``common0``, … are for its
    bitmaps, which only count. ``parts`` are all words or none. They only count and find hits; the order ``newest``
    comes from the trigrams.
    """
    if dialect != "sqlite":
        # Its index works with LIKE.
        indexed = sorted(filter(_TRIGRAM.search, words), key=len, reverse=True)[:MAX_INDEXED]
        rest = list(map(like_pattern, (word for word in words if word not in indexed)))
        counted = words if parts and len(words) <= MAX_INDEXED and all(len(word) <= LONGEST for word in words) else []
        common = {f"common{index}": word for index, word in enumerate(counted)}
        return _named(list(map(like_pattern, indexed))) | common | ({"rest": rest} if rest else {})
    indexed = [word for word in words if len(word) >= TRIGRAM]
    values: dict[str, Any] = {}
    if parts and words and all(map(_PART.fullmatch, words)):
        values["parts"] = " AND ".join(map(_part, words))
        if not newest or len(indexed) < len(words):
            # In the order of an index the first hits are found soon, unless trigrams have to be looked up for all mods.
            indexed = []
    if indexed:
        values["match"] = " AND ".join(map(_quoted, indexed))
    scanned = [word for word in words if word not in indexed]
    return values | _named(like_patterns(scanned))


def _named(patterns: list[str]) -> dict[str, Any]:
    return {f"word{index}": pattern for index, pattern in enumerate(patterns)}


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _part(word: str) -> str:
    """The word as the beginning of a part; a part has at most eight characters."""
    return _quoted(word) + " *" * (len(word) < LONGEST_PART)
