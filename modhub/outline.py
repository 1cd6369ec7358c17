"""Headings without gaps, for texts that come to stand below headings of ours."""

LOWEST = 6
"""HTML has no level below this one."""


class Outline:
    """The levels of a text's headings, one after the other, below a heading of the level ``below``.

    A heading that stands under another is one level deeper, however many levels its author left out between them.
    """

    def __init__(self, below: int) -> None:
        self._below = below
        self._above: list[int] = []

    def level(self, given: int) -> int:
        """The level of the next heading, which its author gave the level ``given``."""
        while self._above and self._above[-1] >= given:
            self._above.pop()
        self._above.append(given)
        return min(self._below + len(self._above), LOWEST)
