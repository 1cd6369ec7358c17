"""Licences of mods: SPDX expressions, or the owner's own words (C-PRF-3)."""

import re
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from modhub.base.errors import ApiError, invalid
from modhub.content import text
from modhub_profiles.limits import LICENSE

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
_OLD_GNU: Final = re.compile(r"(?<!\S)(\(*(?:[AL]?GPL|GFDL)-[0-9.]+)(\+?)(?=[\s)]|\Z)")
"""GNU's old names are the same licences as the new ones: GPL-2.0 is GPL-2.0-only, GPL-2.0+ is GPL-2.0-or-later."""


def _normal_expression(typed: str) -> str:
    """An SPDX expression in its normal form; raises `InvalidLicenseExpression`."""
    expression = canonicalize_license_expression(typed)
    return _OLD_GNU.sub(lambda name: name[1] + ("-or-later" if name[2] else "-only"), expression)


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
        expression = _normal_expression(typed)
    except InvalidLicenseExpression:
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


def clean_typed_license(typed: str, field: str) -> str:
    """As :func:`clean_license`; what is none of SPDX's is the owner's own words."""
    try:
        return clean_license(typed, field)
    except ApiError:
        return other_license(typed, field)


def words_of(stored: str) -> str:
    """The words of a licence that is none of SPDX's; empty for an expression."""
    return stored.removeprefix(OTHER).strip() if stored.startswith(OTHER) else ""


def _unknown(field: str) -> ApiError:
    return invalid(
        "The field %(field)s must be an SPDX licence, such as MIT or GPL-3.0-or-later, or “other: ” and your words.",
        field=field,
    )


def _too_long(field: str) -> ApiError:
    return invalid("The field %(field)s may have at most %(most)s characters.", field=field, most=LICENSE)
