"""The difference of two texts, line by line, in a time that is bounded whatever the texts are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import takewhile
from typing import Final

CONTEXT: Final = 3
"""Lines that are shown around a change."""

COMPARED: Final = 400
"""Lines on either side that are compared with each other; more are shown as taken away and put there."""

MAX_DIFF_LINES: Final = 4000
"""Lines that are shown at most."""

MAX_DIFF_WIDTH: Final = 1000
"""Characters that are shown of a line."""


class LineKind(StrEnum):
    """What became of a line."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference, with its number in the old and in the new text."""

    kind: LineKind
    text: str = ""
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The lines to show; ``cut`` when there are more."""

    lines: list[DiffLine]
    cut: bool


def diff_revisions(old: str, new: str) -> Diff:
    """What changed from ``old`` to ``new``; no lines when nothing did."""
    before, after = old.split("\n"), new.split("\n")
    found: list[DiffLine] = []
    for line in _folded(list(_lines(before, after))):
        if len(found) == MAX_DIFF_LINES:
            return Diff(found, cut=True)
        found.append(line)
    return Diff(found, cut=False)


def _lines(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    for kind, old, old_end, new, new_end in _steps(before, after):
        if kind == "equal":
            for at in range(old_end - old):
                yield DiffLine(LineKind.SAME, _short(before[old + at]), old + at + 1, new + at + 1)
            continue
        for at in range(old, old_end):
            yield DiffLine(LineKind.GONE, _short(before[at]), old=at + 1)
        for at in range(new, new_end):
            yield DiffLine(LineKind.NEW, _short(after[at]), new=at + 1)


def _steps(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """The steps of difflib between the common beginning and the common end, which it would take long to find."""
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    old_end, new_end = len(before) - tail, len(after) - tail
    yield "equal", 0, head, 0, head
    if max(old_end, new_end) - head <= COMPARED:
        matcher = SequenceMatcher(None, before[head:old_end], after[head:new_end], autojunk=False)
        for kind, *places in matcher.get_opcodes():
            old, stop, new, end = (place + head for place in places)
            yield kind, old, stop, new, end
    else:
        yield "replace", head, old_end, head, new_end
    yield "equal", old_end, len(before), new_end, len(after)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _folded(lines: list[DiffLine]) -> Iterator[DiffLine]:
    """The changes with a few lines around them; what lies between is one line that says so."""
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


def _short(line: str) -> str:
    return line if len(line) <= MAX_DIFF_WIDTH else line[: MAX_DIFF_WIDTH - 1] + "…"
