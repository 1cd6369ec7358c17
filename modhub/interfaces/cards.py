"""The service for cards of mods on pages and in feeds."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol


class ModSelection(NamedTuple):
    """Published mods that are one of ``mods``, of one of ``authors``, or for one of ``games``."""

    mods: Collection[int] = ()
    """Their ids."""
    authors: Collection[int] = ()
    """Account ids."""
    games: Collection[str] = ()
    """Names of games as :func:`modhub.content.folding.fold_game` returns them."""


class ChangeWatch(NamedTuple):
    """What is watched for changes: selects of two columns, as :class:`ModSelection` names mods, and since when.

    The feature's own tables say what is watched, so that one statement finds what has changed.
    """

    mods: Any
    """(id of the mod, moment)"""
    authors: Any
    """(id of the account, moment)"""
    games: Any
    """(folded name of the game, moment)"""


class FeedHead(NamedTuple):
    """What a feed says about itself. Paths; ``page`` is the HTML page of the same."""

    title: str
    path: str
    page: str
    twin: str
    """The path of the same feed in the other format."""


class CardPage(NamedTuple):
    """One page of mods as the cards of the pages."""

    cards: list[Any]
    """``Markup`` of each."""
    total: int


class IModCards(Protocol):
    """The service that shows published mods on pages of features; the cards are those of browse."""

    def get_page(
        self,
        request: Any,
        selection: ModSelection,
        page: int,
        size: int,
        *,
        with_changes: bool = False,
        news: Callable[[Collection[int]], Mapping[int, bool]] | None = None,
    ) -> CardPage:
        """One page of the selected mods, last changed first; ``with_changes``: with what is new in each.

        ``news`` gets the ids of the page's mods and returns those to mark: as new if True, else as updated.
        """

    def get_row(self, request: Any, sort: str, title: str, note: str) -> Any:
        """The first mods in an order of the list as a row of the front (``Markup``); None if there are too few.

        ``title`` and ``note``, a sentence that says what the order is, are msgids.
        """

    def get_feed(self, request: Any, selection: ModSelection, head: FeedHead, size: int) -> Any:
        """The Atom feed of the newest versions of the selected mods, a public response."""

    def get_json_feed(self, request: Any, selection: ModSelection, head: FeedHead, size: int) -> Any:
        """The same as JSON Feed."""

    def count_changed(self, watch: ChangeWatch, but_of: Any, most: int) -> Any:
        """The statement that counts, up to ``most``, the published mods that have changed since the watch's moments.

        ``but_of`` is an account, as a value or a parameter, whose own mods do not count.
        """

    def find_changed(self, watch: ChangeWatch, but_of: Any, dialect: str) -> Any:
        """The statement that finds which of the mods ``ids``, a JSON array as a parameter, `count_changed` counts.

        Two columns: the id, and whether the mod was created after the moment (1 or 0).
        """
