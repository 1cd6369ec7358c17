"""The limits of the wiki (C-WIKI-1)."""

from typing import Final

from modhub.limits import MB

TEXT: Final = MB
"""Bytes of a page's Markdown."""

PATH: Final = 200
"""Characters of a page's path in all."""

MAX_WIKI_LINES: Final = 100_000
"""Lines of a page that is shown as Markdown; one with more is shown as plain text."""

WORK: Final = 2_200_000
"""Units of :mod:`modhub_wiki.effort` that a page may take which is shown as Markdown; others are shown as plain text.

Measured: 1 MB of ordinary text with a mark in every third word takes 1,700,000, and a unit about a microsecond.
"""

BLOCK_WORK: Final = 1_000_000
"""Of these, what finding the blocks may take; 1 MB of list items of forty characters takes 950,000."""

EMPHASIS_WORK: Final = 800_000
MARK_WORK: Final = 480_000
"""Of these, what stars may take, and what each other kind of mark: nobody writes a text of brackets alone."""

HEADINGS: Final = 10_000
"""Headings of a page that is shown as Markdown."""

BEGINNING: Final = 16 * 1024
"""Characters of a page that is shown as plain text in which its first heading is looked for."""

TITLES: Final = 100
"""Headings of such a page that are looked at."""

MAX_CODE_BLOCK: Final = 64 * 1024
"""Characters of code of a page that are highlighted; what comes after them is shown without colours.

Measured: less than half a second for ordinary code.
"""

CODE_LINE: Final = 400
"""Characters of a line of code that is highlighted: to some lexers the square of that is a single step."""

CODE_SPACES: Final = 120
"""White space in a row in code that is highlighted: to some lexers the third power of that is a single step."""

CODE_SECONDS: Final = 0.5
"""Seconds of the processor that highlighting the code of a page may take; what comes after them has no colours."""
