"""Line-by-line diff of two texts, in bounded time for any input."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import takewhile
from typing import Final

CONTEXT: Final = 3
"""Unchanged lines around a change."""

COMPARED: Final = 400
"""At most this many changed lines on either side are matched; longer changes appear as one removal and one addition."""

MAX_DIFF_LINES: Final = 4000
"""Lines of a diff, at most."""

MAX_DIFF_WIDTH: Final = 1000
"""Characters of a line, at most."""


class LineKind(StrEnum):
    """What happened to a line."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the diff, with its number in the old and the new text."""

    kind: LineKind
    text: str = ""
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The lines to show; ``cut`` if there are more."""

    lines: list[DiffLine]
    cut: bool


def diff_revisions(old: str, new: str) -> Diff:
    """The diff from ``old`` to ``new``; empty if they are equal."""
    before, after = old.split("\n"), new.split("\n")
    lines: list[DiffLine] = []
    for line in _with_context(list(_lines(before, after))):
        if len(lines) == MAX_DIFF_LINES:
            return Diff(lines, cut=True)
        lines.append(line)
    return Diff(lines, cut=False)


def _lines(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    for kind, old, old_end, new, new_end in _opcodes(before, after):
        if kind == "equal":
            for at in range(old_end - old):
                yield DiffLine(LineKind.SAME, _truncate(before[old + at]), old + at + 1, new + at + 1)
            continue
        for at in range(old, old_end):
            yield DiffLine(LineKind.GONE, _truncate(before[at]), old=at + 1)
        for at in range(new, new_end):
            yield DiffLine(LineKind.NEW, _truncate(after[at]), new=at + 1)


def _opcodes(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """The opcodes of difflib. The common beginning and end are stripped first: difflib finds them slowly."""
    head = _common_prefix(before, after)
    tail = _common_prefix(before[head:][::-1], after[head:][::-1])
    old_end, new_end = len(before) - tail, len(after) - tail
    yield "equal", 0, head, 0, head
    if max(old_end, new_end) - head <= COMPARED:
        matcher = SequenceMatcher(None, before[head:old_end], after[head:new_end], autojunk=False)
        for kind, *bounds in matcher.get_opcodes():
            old, stop, new, end = (bound + head for bound in bounds)
            yield kind, old, stop, new, end
    else:
        yield "replace", head, old_end, head, new_end
    yield "equal", old_end, len(before), new_end, len(after)


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _with_context(lines: list[DiffLine]) -> Iterator[DiffLine]:
    """The changes with a few lines around them; each gap becomes one SKIPPED line."""
    near: set[int] = set()
    for at, line in enumerate(lines):
        if line.kind is not LineKind.SAME:
            near.update(range(at - CONTEXT, at + CONTEXT + 1))
    skipping = False
    for at, line in enumerate(lines):
        if at in near:
            skipping = False
            yield line
        elif near and not skipping:
            skipping = True
            yield DiffLine(LineKind.SKIPPED)


def _truncate(line: str) -> str:
    return line if len(line) <= MAX_DIFF_WIDTH else line[: MAX_DIFF_WIDTH - 1] + "…"
