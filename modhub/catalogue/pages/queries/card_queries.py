"""Reads mods as cards, in a constant number of statements."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from modhub.catalogue.list_queries import page_statement
from modhub.catalogue.pages.presenters.mod import Figure, ModPresenter
from modhub.catalogue.pages.queries import author_queries, selections, statements
from modhub.catalogue.pages.queries.updates import card_of
from modhub.catalogue.read_service import CatalogueReader, ListParams, ListStatement
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.plugins.services import ModSelection
from modhub.web.payload import encode

MAX_DEPENDENTS_COUNTED: Final = 200
"""Maximum number of dependent mods that are counted and sorted, to bound the time for popular mods."""
DEPENDENTS_SHOWN: Final = 8
"""Dependent mods listed on a mod's page."""
OTHER_MODS_SHOWN: Final = 5
"""Other mods of the author listed on a mod's page."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[ModPresenter]
    total: int
    params: ListParams

    @property
    def pages(self) -> int:
        """The number of pages, at least one."""
        return max(1, -(-self.total // self.params.size))


class AuthorTotals(NamedTuple):
    """What all published mods of an author have together. ``figures`` are those of features that are not 0."""

    ups: int
    downs: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class RelatedCards:
    """The mods that a mod's page shows as cards: some that require it, and some of its author."""

    users: list[ModPresenter]
    users_total: int
    others: list[ModPresenter]

    @property
    def many_users(self) -> bool:
        """Whether there are more dependent mods than are counted."""
        return self.users_total > MAX_DEPENDENTS_COUNTED


class CardReader:
    """Reads cards; the part of :class:`PageReader` for them."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        """What features declare is complete with the configuration, so the statements of cards are made later."""
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._figures = catalogue.declared.card_figures
        self._users_total = reader.prepare(statements.users_total_statement())
        self._selected_total = reader.prepare(selections.selected_total_statement(reader.dialect))

    @cached_property
    def _card_columns(self) -> tuple[Any, ...]:
        return statements.card_columns(self._figures.values())

    @cached_property
    def _cards_statement(self) -> ListStatement:
        return partial(page_statement, columns=self._card_columns)

    @cached_property
    def _selected_cards(self) -> PreparedQuery:
        return self.reader.prepare(selections.selected_page_statement(self.reader.dialect, self._card_columns))

    @cached_property
    def _author_totals(self) -> PreparedQuery:
        return self.reader.prepare(author_queries.author_totals_statement(self._figures.values()))

    @cached_property
    def _users(self) -> PreparedQuery:
        return self.reader.prepare(statements.users_statement(self._card_columns))

    @cached_property
    def _others(self) -> PreparedQuery:
        return self.reader.prepare(statements.others_statement(self._card_columns))

    def cards_of(self, rows: Iterable[Row]) -> list[ModPresenter]:
        """Return the cards in rows of `statements.card_columns`."""
        return [card_of(row, self._figures_of(row)) for row in rows]

    def _figures_of(self, row: Row, others: int = len(statements.CARD_COLUMNS)) -> tuple[Figure, ...]:
        numbers = row[others:]
        if not any(numbers):
            return ()
        both = zip(self._figures.values(), numbers, strict=True)
        # A sum is a decimal number to PostgreSQL.
        return tuple((figure.singular, figure.plural, int(number)) for figure, number in both if number)

    def listing(self, params: ListParams) -> Listing:
        """Return one page of published mods as cards."""
        total, rows = self.catalogue.rows(params, self._cards_statement)
        return Listing(self.cards_of(rows), total, params)

    def first_cards(self, params: ListParams) -> list[ModPresenter]:
        """Return the first cards of a list of all mods, without their number."""
        return self.cards_of(self.catalogue.first_rows(params, self._cards_statement))

    def selected(self, selection: ModSelection, params: ListParams) -> Listing:
        """Return one page of the selected mods as cards; of ``params`` only ``page`` and ``size`` count."""
        total, rows = self._selected_rows(self._selected_cards, selection, params)
        return Listing(self.cards_of(rows), total, params)

    def of_author(self, owner: int, params: ListParams) -> tuple[Listing, AuthorTotals]:
        """Return the same of an author's mods, and what all of them have together, in as many statements."""
        row = self.reader.rows(self._author_totals, owner=owner)[0]
        total, ups, downs = map(int, row[:3])
        cards = self.cards_of(self._page_rows(self._selected_cards, ModSelection(authors=(owner,)), params, total))
        return Listing(cards, total, params), AuthorTotals(ups, downs, self._figures_of(row, 3))

    def _selected_rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams) -> tuple[int, list[Row]]:
        total = self.reader.rows(self._selected_total, **_named(selection))[0][0]
        return total, self._page_rows(page, selection, params, total)

    def _page_rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams, total: int) -> list[Row]:
        offset = (params.page - 1) * params.size
        return [] if offset >= total else self.reader.rows(page, **_named(selection), size=params.size, offset=offset)

    def others(self, owner: int, mod_id: int | None) -> list[ModPresenter]:
        """Return other mods of an author, last changed first."""
        return self.cards_of(self.reader.rows(self._others, owner=owner, id=mod_id, size=OTHER_MODS_SHOWN))

    def users(self, guid: str) -> tuple[list[ModPresenter], int]:
        """Return (some published mods that directly require this one, number of such mods)."""
        total: int = self.reader.rows(self._users_total, guid=guid, most=MAX_DEPENDENTS_COUNTED + 1)[0][0]
        if not total:
            return [], 0
        rows = self.reader.rows(self._users, guid=guid, most=MAX_DEPENDENTS_COUNTED, size=DEPENDENTS_SHOWN)
        return self.cards_of(rows), total


def _named(selection: ModSelection) -> dict[str, str]:
    return {name: encode(list(ids)).decode() for name, ids in selection._asdict().items()}
