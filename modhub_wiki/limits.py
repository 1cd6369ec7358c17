"""The limits of the wiki (decisions 5)."""

from typing import Final

from modhub.limits import MB

TEXT: Final = MB
"""Bytes of a page's Markdown."""

PATH: Final = 200
"""Characters of a page's path in all."""

LINES: Final = 50_000
"""Lines of a page that is shown as Markdown; one with more is shown as plain text."""

PIECES: Final = 60_000
"""Blocks, marks and escaped characters of a page that is shown as Markdown; one with more is shown as plain text.

Measured: 150 to 400 KB of ordinary text, and at the worst some seven seconds of one processor.
"""

CODE: Final = 64 * 1024
"""Characters of code of a page that are highlighted; what comes after them is shown without colours."""
