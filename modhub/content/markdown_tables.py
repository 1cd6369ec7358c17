"""Completes what the Markdown parser looks up before a second thread can meet it."""

from typing import Final

from markdown_it import MarkdownIt

_ALL_TABLES: Final = "[link](https://example.org/) <https://example.org/>"


def fill_tables(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser compile its rules, and mdurl make the tables of characters that all parsers share.

    Both publish an empty table and fill it afterwards. A thread that renders meanwhile loses text or an IndexError is
    raised, and links that are stored are percent-encoded where they must not be (markdown-it-py 4.3, mdurl 0.1).
    """
    parser.render(_ALL_TABLES)
    return parser
