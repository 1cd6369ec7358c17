"""The limits of the wiki (C-WIKI-1)."""

from typing import Final

from modhub.content.limits import MB

TEXT: Final = MB
"""Bytes of a page's Markdown."""

PATH: Final = 200
"""Characters of a page's whole path."""

MAX_WIKI_LINES: Final = 100_000
"""Lines of a page; a longer one is shown as plain text."""

WORK: Final = 2_200_000
"""Work units (:mod:`modhub.content.markdown_effort`) of a page; one that takes more is shown as plain text.

Measured: 1 MB of ordinary text with a mark in every third word takes 1,700,000 units of about a microsecond.
"""

BLOCK_WORK: Final = 1_000_000
"""The share of WORK for parsing blocks; 1 MB of list items of 40 characters takes 950,000."""

EMPHASIS_WORK: Final = 800_000
MARK_WORK: Final = 480_000
"""The share of WORK for asterisks, and for each other kind of mark: no real text is all brackets."""

HEADINGS: Final = 10_000
"""Headings of a page; one with more is shown as plain text."""

BEGINNING: Final = 16 * 1024
"""Characters of a plain-text page that are searched for its first heading."""

TITLES: Final = 100
"""Headings of a plain-text page that are tried as its title."""

MAX_CODE_BLOCK: Final = 64 * 1024
"""Characters of code that are highlighted per page; the rest stays plain.

Measured: less than half a second for ordinary code.
"""

CODE_LINE: Final = 400
"""Characters of a line of highlighted code: some lexers take quadratic time within one step."""

CODE_SPACES: Final = 120
"""Consecutive white space in highlighted code: some lexers take cubic time within one step."""

CODE_SECONDS: Final = 0.5
"""Processor seconds for highlighting the code of a page; the rest stays plain."""
