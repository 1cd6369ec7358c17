"""The limits of the wiki (decisions 5)."""

from typing import Final

from modhub.limits import MB

TEXT: Final = MB
"""Bytes of a page's Markdown."""

PATH: Final = 200
"""Characters of a page's path in all."""

LINES: Final = 100_000
"""Lines of a page that is shown as Markdown; one with more is shown as plain text."""

PIECES: Final = 250_000
"""Blocks, marks and escaped characters of a page that is shown as Markdown; one with more is shown as plain text.

Measured: more than ordinary text of 1 MB has (170,000 with a mark in every third word), and at the worst some seven
seconds of one processor.
"""

BEGINNING: Final = 64 * 1024
"""Characters of a page that is shown as plain text in which its first heading is looked for."""

CODE: Final = 256 * 1024
"""Characters of code of a page that are highlighted; what comes after them is shown without colours.

Measured: less than four seconds for ordinary code.
"""

CODE_SECONDS: Final = 5.0
"""Seconds of the processor that highlighting the code of a page may take; what comes after them has no colours."""
