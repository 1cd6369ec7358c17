"""Licences of mods: SPDX expressions, or the owner's own words (C-PRF-3)."""

import re
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


_REFERENCE: Final = re.compile(r"(DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")
"""A text of the owner's own, as SPDX names it."""
_DEPRECATED: Final = (
    "BSD-2-Clause-FreeBSD",
    "BSD-2-Clause-NetBSD",
    "bzip2-1.0.5",
    "GPL-2.0-with-bison-exception",
    "Net-SNMP",
    "Nunit",
    "StandardML-NJ",
)
"""Deprecated licences of SPDX that the list of ``license_expression`` has as names of others, or not at all."""


@cache
def _spdx() -> "Licensing":
    """The list of SPDX. With its module it takes 6 MB and 100 ms, so it is read when somebody first sets a licence."""
    from license_expression import LicenseSymbol, Licensing, get_license_index  # noqa: PLC0415 - ADR 049

    licenses, exceptions, renamed = list(_DEPRECATED), ["Nokia-Qt-exception-1.1"], {}
    for row in get_license_index():
        name = row["spdx_license_key"] or "LicenseRef-"
        if name.startswith("LicenseRef-"):
            continue  # ScanCode's own, and none of SPDX
        # ScanCode takes licences that include an exception for exceptions.
        is_license = not row["is_exception"] or row["is_deprecated"] or name == "MPL-2.0-no-copyleft-exception"
        (licenses if is_license else exceptions).append(name)
        # Of the other names only GNU's old ones are the same licence: GPL-2.0 is GPL-2.0-only, GPL-2.0+ -or-later.
        for old in row["other_spdx_license_keys"]:
            if name == (f"{old[:-1]}-or-later" if old.endswith("+") else f"{old}-only"):
                renamed[old.lower()] = name
    or_later = [f"{name}+" for name in licenses if not name.endswith(("-only", "-or-later"))]
    symbols = [LicenseSymbol(name) for name in licenses + or_later]
    licensing = Licensing([*symbols, *(LicenseSymbol(name, is_exception=True) for name in exceptions)])
    known = licensing.known_symbols
    licensing.known_symbols_lowercase.update({old: known[name] for old, name in renamed.items()})
    return licensing


def _normal_expression(typed: str) -> str:
    """An SPDX expression in its normal form; any exception for what is none: its parser raises almost anything."""
    licensing = _spdx()
    expression = licensing.parse(typed, strict=True, simple=True)
    unknown = licensing.unknown_license_keys(expression)
    if not typed.isascii() or not all(map(_REFERENCE.fullmatch, unknown)):
        raise ValueError(unknown)
    return str(expression)


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
    except Exception:  # noqa: BLE001 - see there
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
