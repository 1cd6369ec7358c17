"""Consistent heading levels for texts that appear below headings of ours."""

LOWEST = 6
"""The lowest level in HTML."""


class Outline:
    """The levels of a text's headings, in order, below a heading of the level ``below``.

    A nested heading is one level deeper, however many levels its author skipped.
    """

    def __init__(self, below: int) -> None:
        self._base = below
        self._ancestors: list[int] = []

    def level(self, author_level: int) -> int:
        """The level for the next heading, to which its author gave ``author_level``."""
        while self._ancestors and self._ancestors[-1] >= author_level:
            self._ancestors.pop()
        self._ancestors.append(author_level)
        return min(self._base + len(self._ancestors), LOWEST)
