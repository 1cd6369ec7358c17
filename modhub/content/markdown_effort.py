"""Bounds the work of rendering Markdown by counting it, so the result does not depend on the machine or its load.

A unit is about a microsecond of parsing, rendering and cleaning on the machine where it was measured. Rendering stops
as soon as a text exceeds one of its :class:`WorkLimits`, before most of the work is done.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline

EFFORT: Final = "effort"
"""The key of the :class:`Effort` in the environment that the parser passes to its rules."""
_BLOCK: Final = 18
_LINE: Final = 6
_REFERENCE: Final = 10
_CELL: Final = 15
_TOKEN: Final = 5
_TOKEN_COSTS: Final = {"heading_open": 60, "fence": 60, "blockquote_open": 20, "td_open": 7, "th_open": 7}
_MARKS: Final = re.compile(r"!\[|[^\w\s]|[_\n]")
_MARK: Final = 3
_MARK_COSTS: Final = {"![": 34, "[": 11, "*": 11, "_": 11, "&": 10, "\\": 8, "`": 9, "<": 6, "\n": 13}
_ADDRESSES: Final = re.compile(r"<[A-Za-z][^<>\s:@]*[:@][^<>\s]*>")
_ADDRESS: Final = 60
_ESCAPED: Final = re.compile(r"[&<>\"]")


class TooMuchWork(Exception):
    """The text exceeds a limit; it is shown as plain text instead."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How much work a text may take: in all, for blocks, for asterisks, for each other kind of mark; and headings."""

    work: int
    block_work: int
    emphasis_work: int
    mark_work: int
    headings: int


class Effort:
    """The work budget of one text."""

    def __init__(self, limits: WorkLimits) -> None:
        self.limits = limits
        self._left = limits.work
        self._kinds: Counter[str] = Counter()

    def spend(self, units: int) -> None:
        """Raise :class:`TooMuchWork` if the budget does not suffice."""
        self._left -= units
        if self._left < 0:
            raise TooMuchWork

    def spend_on(self, kind: str, units: int, most: int) -> None:
        """Spend ``units`` of one ``kind``, which may take at most ``most`` in all."""
        self._kinds[kind] += units
        if self._kinds[kind] > most:
            raise TooMuchWork
        self.spend(units)


def meter_parser(parser: MarkdownIt) -> MarkdownIt:
    """Add rules that charge the parser's work to the :class:`Effort` that the caller puts into its environment."""
    # Registered as able to end a paragraph, quote or list, so the rule runs at every line of them.
    parser.block.ruler.before("table", EFFORT, _charge_line, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("table", _charge_table, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("text", EFFORT, _charge_position)
    parser.core.ruler.after("block", EFFORT, _charge_tokens)
    return parser


def _charge_line(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """Charge for a line, once for each quote and list around it."""
    effort: Effort = state.env[EFFORT]
    begin, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    first = state.src[begin : begin + 1]
    if first == "#" and not silent:
        effort.spend_on("headings", 1, effort.limits.headings)
    units = (_LINE if silent else _BLOCK) + (_REFERENCE if first == "[" else 0)
    effort.spend_on("blocks", units + _CELL * state.src.count("|", begin, end), effort.limits.block_work)
    return False


def _charge_table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Charge for the cells that the parser adds to short rows; they are not counted from the text."""
    if not table(state, line, end, silent):
        return False
    if not silent:
        begin, end = state.bMarks[line], state.eMarks[state.line - 1]
        columns = state.src.count("|", begin, state.eMarks[line])
        missing = columns * (state.line - line) - state.src.count("|", begin, end)
        effort: Effort = state.env[EFFORT]
        effort.spend_on("blocks", _CELL * max(missing, 0), effort.limits.block_work)
    return True


def _charge_position(state: StateInline, _silent: bool) -> bool:
    """Charge for a position in a line, again each time the parser looks ahead."""
    effort: Effort = state.env[EFFORT]
    effort.spend(1)
    return False


def _charge_tokens(state: StateCore) -> None:
    """Charge for inline marks, tokens and cleaning, after the blocks are known and before the costly part."""
    effort: Effort = state.env[EFFORT]
    for token in state.tokens:
        effort.spend(_TOKEN + _TOKEN_COSTS.get(token.type, 0))
        if token.type != "inline":
            effort.spend(len(_ESCAPED.findall(token.content)))
            continue
        for mark, count in Counter(_MARKS.findall(token.content)).items():
            most = effort.limits.emphasis_work if mark == "*" else effort.limits.mark_work
            effort.spend_on(mark, count * _MARK_COSTS.get(mark, _MARK), most)
        effort.spend_on("addresses", _ADDRESS * len(_ADDRESSES.findall(token.content)), effort.limits.mark_work)
