"""How much work a page is to render, counted as it is read: alike on every machine, however busy it is.

A unit is about a microsecond of the machine that it was measured on, from the parser to the cleaner. A page that would
take more than :mod:`modhub_wiki.limits` allows is given up before most of the work is done.
"""

import re
from collections import Counter
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline

from modhub_wiki import limits

EFFORT: Final = "effort"
"""The name of the :class:`Effort` among the values that a parser hands to its rules."""
_BLOCK: Final = 18
_LINE: Final = 6
_REFERENCE: Final = 10
_CELL: Final = 15
_TOKEN: Final = 5
_PRICES: Final = {"heading_open": 60, "fence": 60, "blockquote_open": 20, "td_open": 7, "th_open": 7}
_MARKS: Final = re.compile(r"!\[|[^\w\s]|[_\n]")
_MARK: Final = 3
_MARK_PRICES: Final = {"![": 34, "[": 11, "*": 11, "_": 11, "&": 10, "\\": 8, "`": 9, "<": 6, "\n": 13}
_ADDRESSES: Final = re.compile(r"<[A-Za-z][^<>\s:@]*[:@][^<>\s]*>")
_ADDRESS: Final = 60
_ESCAPED: Final = re.compile(r"[&<>\"]")


class TooMuchWork(Exception):
    """The page is shown as plain text."""


class Effort:
    """The budget of one page."""

    def __init__(self) -> None:
        self._left = limits.WORK
        self._kinds: Counter[str] = Counter()

    def spend(self, units: int) -> None:
        """:class:`TooMuchWork` when there is not as much left."""
        self._left -= units
        if self._left < 0:
            raise TooMuchWork

    def spend_on(self, kind: str, units: int, most: int) -> None:
        """The same; of one ``kind`` there may be no more than ``most`` in all."""
        self._kinds[kind] += units
        if self._kinds[kind] > most:
            raise TooMuchWork
        self.spend(units)


def measured(parser: MarkdownIt) -> MarkdownIt:
    """``parser``, spending what it does; whoever calls it puts an :class:`Effort` into its environment."""
    # As something that could end a paragraph, a quote or a list, the rule is asked at every line of them.
    parser.block.ruler.before("table", EFFORT, _line, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("text", EFFORT, _place)
    parser.core.ruler.after("block", EFFORT, _price)
    return parser


def _line(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """A line, once for each quote and list that it stands in."""
    effort: Effort = state.env[EFFORT]
    begin, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    first = state.src[begin : begin + 1]
    if first == "#" and not silent:
        effort.spend_on("headings", 1, limits.HEADINGS)
    units = (_LINE if silent else _BLOCK) + (_REFERENCE if first == "[" else 0)
    effort.spend_on("blocks", units + _CELL * state.src.count("|", begin, end), limits.BLOCK_WORK)
    return False


def _table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """A table. Cells that a row lacks are added to it; they were not seen in its line."""
    if not table(state, line, end, silent):
        return False
    if not silent:
        begin, end = state.bMarks[line], state.eMarks[state.line - 1]
        columns = state.src.count("|", begin, state.eMarks[line])
        lacking = columns * (state.line - line) - state.src.count("|", begin, end)
        effort: Effort = state.env[EFFORT]
        effort.spend_on("blocks", _CELL * max(lacking, 0), limits.BLOCK_WORK)
    return True


def _place(state: StateInline, _silent: bool) -> bool:
    """A place in a line, again each time when the parser looks ahead."""
    effort: Effort = state.env[EFFORT]
    effort.spend(1)
    return False


def _price(state: StateCore) -> None:
    """Between the blocks and what costs more: the marks in them, their tokens, their way through the cleaner."""
    effort: Effort = state.env[EFFORT]
    for token in state.tokens:
        effort.spend(_TOKEN + _PRICES.get(token.type, 0))
        if token.type != "inline":
            effort.spend(len(_ESCAPED.findall(token.content)))
            continue
        for mark, count in Counter(_MARKS.findall(token.content)).items():
            most = limits.EMPHASIS_WORK if mark == "*" else limits.MARK_WORK
            effort.spend_on(mark, count * _MARK_PRICES.get(mark, _MARK), most)
        effort.spend_on("addresses", _ADDRESS * len(_ADDRESSES.findall(token.content)), limits.MARK_WORK)
