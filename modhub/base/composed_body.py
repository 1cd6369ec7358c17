"""A body made of stored documents piece by piece: what readers hand to views."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


class ContentChanged(Exception):
    """What a body is composed of has changed since its size and its validator were read."""


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
