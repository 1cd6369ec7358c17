"""The two folds: one for searching, one for comparing game names (C-MOD-6, C-LIST-5).

Both are applied to stored and to searched values, so that only folded forms are compared. Both are idempotent, and
neither produces a newline that its input does not have.
"""

import re
import unicodedata

from modhub.content import limits, text

# Letters that normalisation does not decompose (case folding has already lowered them, and made ß ss), signs that
# keyboards do not have, and what is invisible.
_LETTERS = {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "þ": "th", "ð": "d"}
_SIGNS = {"'": "‘’‚‛‹›′‵ʹʻʼʽ׳", '"': "“”„‟«»″‶״", "-": "‐‑‒–—―−", "": "\u00ad\u200b\u200c\u200d\u2060\ufe0f"}
_TABLE = str.maketrans(_LETTERS | {sign: plain for plain, signs in _SIGNS.items() for sign in signs})
# Marks that are letters to their readers, no accents: of Thai, Lao and Khmer; the voicing of kana.
_LETTER_MARK = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3099\u309a]")
_VOICED_KANA = re.compile("[\u3041-\u30fe][\u3099\u309a]")


def fold_search(value: str) -> str:
    """The form in which titles, game names and search words are compared: without case, accents and special letters.

    One code point may become three (Hangul is decomposed, ``㎧`` becomes ``m∕s``); control characters vanish. Voiced
    kana stay one, so that カ is not found in ガ.
    """
    folded = text.scrub(value)
    # A second round is needed where decomposition yields a capital (ℌ) or a sign (﹘), or case folding an accent (İ).
    while (refolded := _search_round(folded)) != folded:
        folded = refolded
    return folded


def fold_game(value: str) -> str:
    """The identity of a game name: without case and outer spaces; accents make games different (C-MOD-6)."""
    folded = text.scrub(value)
    while (refolded := text.normal("NFC", text.normal("NFD", folded.strip()).casefold())) != folded:
        folded = refolded
    return folded


def search_words(query: str) -> list[str]:
    """The folded words of a search query, without duplicates, in order (C-LIST-5).

    All of them must occur in the folded title or a folded game name; an empty list restricts nothing. ``%`` and ``_``
    are ordinary characters: see :func:`like_pattern`.
    """
    cleaned = text.line(query[: limits.QUERY], limits.QUERY)
    words = (fold_search(word).strip() for word in cleaned.split())
    return list(dict.fromkeys(filter(None, words)))


def like_pattern(word: str) -> str:
    """The LIKE pattern for "contains ``word``"; ``%`` and ``_`` are ordinary characters (C-LIST-5).

    The character that escapes them is the backslash: ``column.like(pattern, escape="\\\\")``.
    """
    return "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def like_patterns(words: list[str]) -> list[str]:
    """The patterns of all ``words``; the last one is repeated until there are 1, 2, 4, 8, … of them.

    So a search has few statements, however many words callers send: each is compiled, planned and kept.
    """
    patterns = [like_pattern(word) for word in words]
    rounded = 1 << (len(patterns) - 1).bit_length() if patterns else 0
    return patterns + patterns[-1:] * (rounded - len(patterns))


def _search_round(value: str) -> str:
    decomposed = text.normal("NFKD", value.casefold().translate(_TABLE))
    kept = "".join([char for char in decomposed if not unicodedata.combining(char) or _LETTER_MARK.match(char)])
    return _VOICED_KANA.sub(lambda kana: unicodedata.normalize("NFC", kana[0]), kept)
