"""Renders the Markdown of owners: CommonMark with tables; HTML in it passes the allowlist like all other (T-A3)."""

from typing import Final

from markdown_it import MarkdownIt

from modhub.content.markdown_effort import EFFORT, Effort, TooMuchWork, WorkLimits, meter_parser
from modhub.content.markdown_tables import fill_tables

# Ordinary text of the longest description takes 14,000 units, one of nothing but marks 90,000.
_LIMITS: Final = WorkLimits(work=120_000, block_work=80_000, emphasis_work=80_000, mark_work=80_000, headings=400)
_LOWEST: Final = 4
"""The level of the lowest heading on the allowlist; the highest is 2."""

fill_tables(MarkdownIt("commonmark"))  # each text has a parser of its own; the tables of addresses are of all


def render_markdown(source: str) -> str | None:
    """Return HTML that has to be cleaned; None for a text that takes too much work."""
    parser = meter_parser(MarkdownIt("commonmark", {"html": True}).enable("table"))
    try:
        tokens = parser.parse(source, {EFFORT: Effort(_LIMITS)})
    except TooMuchWork:
        return None
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, _LOWEST)}"
        elif token.type in {"fence", "th_open", "td_open"}:
            # Classes of languages and styles of columns, which the allowlist would remove and the preview would list.
            token.info, token.attrs = "", {}
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html
