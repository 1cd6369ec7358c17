"""Passwords that attackers try first: common ones, patterns of the keyboard, and what anybody knows of the account.

Shorter than ten characters none is accepted anyway: only longer ones need a list (``common_passwords.txt``).
"""

import re
import string
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from modhub.errors import ApiError

COMMON_PASSWORD_LINES: Final = (
    *("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"),
    *("qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn"),
    *("1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm"),
)
"""Rows and columns of keyboards, forwards and backwards; and the alphabet."""
_STEPS: Final = frozenset(
    pair
    for line in (*COMMON_PASSWORD_LINES, *(line[::-1] for line in COMMON_PASSWORD_LINES))
    for pair in pairwise(line)
)
_AROUND: Final = string.digits + string.punctuation + " "
FEW: Final = 6
"""So few characters around a known word add nothing."""
_KNOWN_WORD: Final = 4
"""Shorter words are in too many others."""
_WORD: Final = re.compile(r"[^\W_]+")


def common_password_error() -> ApiError:
    """400: the password is common, and the operator wants such ones refused."""
    message = "The field %(field)s holds a password that is tried first by attackers; choose another."
    return ApiError(400, "common_password", message, values={"field": "password"})


def password_warning(hidden: dict[str, str]) -> ApiError:
    """400 on pages: the password is common; with the ``hidden`` fields it is taken the next time."""
    return ApiError(400, "password_warning", "This password is a common one.", hidden=hidden)


def words_of(base_url: str, *told: str) -> set[str]:
    """What an attacker would try of this service and of an account: names, and the local parts of addresses."""
    texts = ["modhub", urlsplit(base_url).hostname or "", *(one.partition("@")[0] for one in told)]
    found = {word for text in texts for word in _WORD.findall(text.casefold())}
    found |= {"".join(_WORD.findall(text.casefold())) for text in texts}
    return {word for word in found if len(word) >= _KNOWN_WORD}


def is_common(password: str, words: Iterable[str] = ()) -> bool:
    """Whether an attacker tries ``password``, of at least ten characters, among the first few thousand.

    ``words``: see :func:`words_of`.
    """
    folded = password.casefold()
    core = folded.strip(_AROUND)
    return (
        folded in _listed()
        or (core in _listed() and len(folded) - len(core) <= FEW)
        or _is_pattern(folded)
        or any(word in folded and len(folded.replace(word, "")) <= FEW for word in words)
    )


def _is_pattern(folded: str) -> bool:
    """Few different characters, a short text again and again, or mostly steps along the keyboard or the alphabet."""
    period = (folded + folded).find(folded, 1)
    leaps = sum(first != second and (first, second) not in _STEPS for first, second in pairwise(folded))
    return len(set(folded)) <= 3 or period < min(10, len(folded)) or leaps * 4 <= len(folded)


@cache
def _listed() -> frozenset[str]:
    lines = (files("modhub_auth") / "common_passwords.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
