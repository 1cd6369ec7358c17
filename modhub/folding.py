"""The two folds: one for searching, one for telling games apart (C-MOD-7, C-LIST-5).

Both are applied to what is stored and to what is asked, so that only the folded forms are ever compared. Folding what
is folded changes nothing, and neither fold ever makes a newline that its input does not have.
"""

import unicodedata

from modhub import limits, text

# Letters that no normalisation takes apart; case folding has made them small, and ß to ss, before.
_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "þ": "th", "ð": "d"})


def fold_search(value: str) -> str:
    """The form in which titles, game names and search words meet: without case, accents and special letters.

    Three code points may come of one (Hangul is taken apart, ``㎧`` becomes ``m∕s``); control characters vanish.
    """
    folded = text.scrub(value)
    # A second round is needed where taking apart gives a capital (ℌ) or case folding an accent (İ).
    while (again := _search_round(folded)) != folded:
        folded = again
    return folded


def fold_game(value: str) -> str:
    """The identity of a game name: without case and outer spaces; accents tell games apart (C-MOD-7)."""
    folded = text.scrub(value)
    while (again := text.normal("NFC", text.normal("NFD", folded.strip()).casefold())) != folded:
        folded = again
    return folded


def search_words(query: str) -> list[str]:
    """The folded words of a search as it was typed, each once, in order (C-LIST-5).

    Every one of them must occur in the folded title or a folded game name; an empty list restricts nothing. ``%`` and
    ``_`` are ordinary characters: see :func:`like_pattern`.
    """
    typed = text.line(query[: limits.QUERY], limits.QUERY)
    words = (fold_search(word).strip() for word in typed.split())
    return list(dict.fromkeys(filter(None, words)))


def like_pattern(word: str) -> str:
    """The LIKE pattern for "contains ``word``"; ``%`` and ``_`` are ordinary characters (C-LIST-5).

    The character that escapes them is the backslash: ``column.like(pattern, escape="\\\\")``.
    """
    return "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _search_round(value: str) -> str:
    apart = text.normal("NFKD", value.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char)).translate(_LETTERS)
