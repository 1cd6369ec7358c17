"""Configure applications faster: tests do it a thousand times, and never read where a directive was called."""

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType, SimpleNamespace
from typing import Any

import pyramid.config.actions
import pyramid_jinja2
from pyramid.util import TopologicalSorter

Sort = Callable[[TopologicalSorter], list[tuple[str, Any]]]
CallSite = tuple[str, int, str, str]


def configure_faster() -> None:
    """Spare Pyramid and pyramid_jinja2 the source of each frame, and sorting the same view derivers for each view."""
    pyramid_jinja2._PackageFinder.inspect = SimpleNamespace(stack=_frames)
    pyramid.config.actions.traceback = SimpleNamespace(extract_stack=_call_sites)
    TopologicalSorter.sorted = _sorting_once(TopologicalSorter.sorted)


def _frames() -> Iterator[tuple[FrameType]]:
    """As `inspect.stack`, without the source: looking for it takes 10 ms under pytest."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        yield (frame,)


def _call_sites(limit: int) -> list[CallSite]:
    """As `traceback.extract_stack`, without the source."""
    sites: list[CallSite] = []
    frame: FrameType | None = sys._getframe(1)
    while frame and len(sites) < limit:
        sites.insert(0, (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, ""))
        frame = frame.f_back
    return sites


def _sorting_once(sort: Sort) -> Sort:
    """Pyramid sorts all view derivers for each view, though they no longer change."""
    if hasattr(sort, "__wrapped__"):
        return sort

    @wraps(sort)
    def sorted_once(sorter: TopologicalSorter) -> list[tuple[str, Any]]:
        content = (*sorter.names, *sorter.order, *map(id, sorter.values()))
        before, ordered = getattr(sorter, "sorted_once", (None, []))
        if content != before:
            ordered = sort(sorter)
            sorter.sorted_once = content, ordered
        return ordered[:]

    return sorted_once
