"""Passwords that attackers try first: common ones, keyboard patterns, and words that the account suggests.

The list in ``common_passwords.txt`` holds no password of less than ten characters: the rules refuse those anyway.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from modhub.base.errors import ApiError

COMMON_PASSWORD_LINES: Final = (
    *("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"),
    *("qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn"),
    *("1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm"),
)
"""Rows and columns of keyboards, and the alphabet; each counts in both directions."""
_KEYBOARD_STEPS: Final = frozenset(
    pair
    for line in (*COMMON_PASSWORD_LINES, *(line[::-1] for line in COMMON_PASSWORD_LINES))
    for pair in pairwise(line)
)
COMMON_WORDS: Final = frozenset(
    """
    passwort passwd kennwort zugang geheim sicher willkommen hallo schatz liebe engel mama papa familie
    start login user root guest gast server support default initial temp temporary gamer gaming
    frühling fruehling sommer herbst autumn sonne prinzessin drache fussball schalke bayern dortmund hamburg münchen
    januar january februar february märz maerz march april juni june juli july september oktober dezember
    montag dienstag tuesday mittwoch wednesday donnerstag thursday freitag samstag saturday sonntag sunday
    """.split()  # noqa: SIM905 - words are read more easily than a list of strings
)
"""Words common in passwords, mainly German ones, that the list lacks."""
_LOOKALIKES: Final = str.maketrans("@4301!5$7", "aaeoiisst")
_YEAR: Final = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
MAX_STEPS: Final = 6
"""Up to this many steps around a known word add nothing. A row of keys and a year are one step each."""
_MIN_WORD: Final = 4
"""The length of a word that counts; shorter ones occur in too many others."""
_WORD: Final = re.compile(r"[^\W_]+")


def common_password_error() -> ApiError:
    """400: the password is common, and the operator refuses common passwords."""
    message = "The field %(field)s holds a password that is tried first by attackers; choose another."
    return ApiError(400, "common_password", message, values={"field": "password"})


def password_warning(hidden: dict[str, str]) -> ApiError:
    """400 on pages: the password is common. With the ``hidden`` fields it is accepted the next time."""
    return ApiError(400, "password_warning", "This password is too common.", hidden=hidden)


def guessable_words(settings: Mapping[str, Any], *personal: str) -> set[str]:
    """The words an attacker would try for this service and account: names, addresses, and their parts (C-SEC-4)."""
    parts = (part for text in personal for part in (text, text.partition("@")[0], text.partition("@")[2]))
    texts = ["modhub", settings["modhub.site_name"], urlsplit(settings["modhub.base_url"]).hostname or "", *parts]
    words = {text.casefold() for text in texts}
    words |= {word for text in texts for word in _WORD.findall(text.casefold())}
    words |= {"".join(_WORD.findall(text.casefold())) for text in texts}
    return {word for word in words if len(word) >= _MIN_WORD}


def is_common(password: str, words: Iterable[str] = ()) -> bool:
    """Whether an attacker tries ``password``, of at least ten characters, among the first few thousand.

    ``words``: see :func:`guessable_words`.
    """
    folded = password.casefold()
    core = folded.strip("".join({character for character in folded if not character.isalpha()}))
    return (
        folded in _common_passwords()
        or (_is_common_word(core) and _guess_steps(folded.replace(core, "", 1)) <= MAX_STEPS)
        or _is_pattern(folded)
        or any(word in folded and _guess_steps(folded.replace(word, "")) <= MAX_STEPS for word in words)
    )


def _is_common_word(core: str) -> bool:
    """Whether it is one word or one row of keys. Digits and signs in it may stand for letters."""
    plain = core.translate(_LOOKALIKES)
    is_listed = not _common_passwords().isdisjoint((core, plain))
    return is_listed or plain in COMMON_WORDS or (len(core) > 3 and not _count_leaps(core))


def _is_pattern(folded: str) -> bool:
    """Whether it has few different characters, repeats a short text, or mostly follows the keyboard or alphabet."""
    period = (folded + folded).find(folded, 1)
    return len(set(folded)) <= 3 or period < min(10, len(folded)) or _count_leaps(folded) * 4 <= len(folded)


def _guess_steps(padding: str) -> int:
    """The number of steps to guess the characters around a word."""
    shortened = _YEAR.sub("0", padding)
    return _count_leaps(shortened) + bool(shortened)


def _count_leaps(text: str) -> int:
    """How often the next character is neither the same key nor a neighbouring one."""
    return sum(first != second and (first, second) not in _KEYBOARD_STEPS for first, second in pairwise(text))


@cache
def _common_passwords() -> frozenset[str]:
    lines = (files("modhub_auth") / "common_passwords.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
