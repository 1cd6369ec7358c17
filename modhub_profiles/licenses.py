"""Licences of mods: SPDX expressions, or the owner's own words (C-PRF-3)."""

from functools import cache
from typing import TYPE_CHECKING, Final

from modhub.base.errors import ApiError, invalid
from modhub.content import text
from modhub_profiles.limits import LICENSE

if TYPE_CHECKING:
    from license_expression import Licensing

OTHER: Final = "other:"
"""How a licence in words begins, as it is stored and in the API; no SPDX expression does."""
COMMON: Final = (
    "MIT",
    "Apache-2.0",
    "BSD-3-Clause",
    "GPL-3.0-or-later",
    "LGPL-3.0-or-later",
    "MPL-2.0",
    "CC0-1.0",
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC-BY-NC-SA-4.0",
)
"""What the form suggests."""


@cache
def _spdx() -> "Licensing":
    """The list of SPDX. With its module it takes 6 MB and 100 ms, so it is read when somebody first sets a licence."""
    from license_expression import get_spdx_licensing  # noqa: PLC0415 - ADR 049

    licensing = get_spdx_licensing()
    # Now, not in the first use: two threads must not build it together.
    licensing.get_advanced_tokenizer()
    return licensing


def clean_license(value: str, field: str = "license") -> str:
    """The licence as it is stored: a normal SPDX expression, or ``other: `` and words; empty for an empty one. 400."""
    # Not cut at the limit: the rest could be another licence.
    typed = text.line(value, 2 * LICENSE)
    if typed.lower().startswith(OTHER):
        return other_license(typed[len(OTHER) :], field)
    if not typed:
        return ""
    if len(typed) > LICENSE:
        raise _too_long(field)
    try:
        if not typed.isascii():
            raise ValueError(typed)
        expression = str(_spdx().parse(typed, validate=True, strict=True))
    except Exception:  # noqa: BLE001 - its parser raises almost anything for odd input
        raise _unknown(field) from None
    if len(expression) > LICENSE:
        raise _too_long(field)
    return expression


def other_license(words: str, field: str = "license") -> str:
    """A licence in the owner's words as it is stored; empty without any. 400."""
    typed = text.line(words, LICENSE + 1)
    if len(typed) > LICENSE:
        raise _too_long(field)
    return f"{OTHER} {typed}" if typed else ""


def words_of(stored: str) -> str:
    """The words of a licence that is none of SPDX's; empty for an expression."""
    return stored.removeprefix(OTHER).strip() if stored.startswith(OTHER) else ""


def _unknown(field: str) -> ApiError:
    return invalid("The field %(field)s must be an SPDX licence, such as MIT or GPL-3.0-or-later.", field=field)


def _too_long(field: str) -> ApiError:
    return invalid("The field %(field)s may have at most %(most)s characters.", field=field, most=LICENSE)
