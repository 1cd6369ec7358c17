"""A body made of stored documents piece by piece: what readers hand to views."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

_Item = TypeVar("_Item")
PORTION: Final = 1_000_000
"""Bytes that are read by one statement."""


class ContentChanged(Exception):
    """What a body is composed of has changed since its size and its validator were read."""


def by_size(items: Iterable[_Item], size_of: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yield ``items`` in portions of about `PORTION` bytes, so that many large ones are never in memory together."""
    portion, size = list[_Item](), 0
    for item in items:
        portion.append(item)
        size += size_of(item)
        if size > PORTION:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


@dataclass(frozen=True, slots=True)
class ComposedBody:
    """A JSON body made of stored documents, before it is made.

    ``etag`` identifies exactly these bytes, with its quotes; empty for a response without one. ``size`` is in bytes, at
    least as many as there will be. ``parts`` makes the body, piece by piece, and raises :class:`ContentChanged` if it
    would be another by now. ``links`` is the ``Link`` header. ``is_exact``: ``size`` is the length of the body.
    """

    etag: str
    size: int
    parts: Callable[[], Iterator[bytes]]
    links: str = ""
    is_exact: bool = True
