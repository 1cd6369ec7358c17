"""The version that a form proposes for the next upload."""

import re
from collections.abc import Collection
from typing import Final

from modhub.content.limits import VERSION

_LAST_NUMBER: Final = re.compile(r"[0-9]+(?=[^0-9]*\Z)")


def propose_version(current: str, used: Collection[str]) -> str:
    """Return the next version: the last number of ``current`` plus one, or more until it is not in ``used``.

    Versions are free text (C-UP-4): without a number in it, or without room for a longer one, nothing is proposed.
    """
    number = _LAST_NUMBER.search(current)
    if number is None:
        return ""
    before, after, digits = current[: number.start()], current[number.end() :], number[0]
    for value in range(int(digits) + 1, int(digits) + len(used) + 2):
        proposed = f"{before}{value:0{len(digits)}d}{after}"
        if proposed not in used:
            return proposed if len(proposed) <= VERSION else ""
    return ""
