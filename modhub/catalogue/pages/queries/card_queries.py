"""Reads mods as cards, in a constant number of statements."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from sqlalchemy import bindparam

from modhub.catalogue.list_queries import page_statement
from modhub.catalogue.pages.presenters.mod import Figure, ModPresenter
from modhub.catalogue.pages.queries import author_queries, selections, statements
from modhub.catalogue.pages.queries.updates import card_of
from modhub.catalogue.read_service import CatalogueReader, ListParams, ListStatement
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.plugins.declarations import ModColumn
from modhub.plugins.services import ModSelection
from modhub.web.payload import encode


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
        return self.users_total > statements.MAX_DEPENDENTS_COUNTED


class CardReader:
    """Reads cards; the part of :class:`PageReader` for them."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        """What features declare is complete with the configuration, so the statements of cards are made later."""
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._selected_total = PreparedQuery(selections.selected_total_statement(reader.dialect))

    @cached_property
    def _figures(self) -> tuple[ModColumn, ...]:
        return self.catalogue.declared.figures

    @cached_property
    def card_columns(self) -> tuple[Any, ...]:
        """The columns of `cards_of`."""
        return statements.card_columns(self._figures)

    @cached_property
    def _cards_statement(self) -> ListStatement:
        return partial(page_statement, columns=self.card_columns)

    @cached_property
    def _first_statement(self) -> ListStatement:
        return partial(statements.first_statement, columns=self.card_columns)

    @cached_property
    def _selected_cards(self) -> PreparedQuery:
        return PreparedQuery(selections.selected_page_statement(self.reader.dialect, self.card_columns))

    @cached_property
    def _author_totals(self) -> PreparedQuery:
        return PreparedQuery(author_queries.author_totals_statement(self._figures))

    @cached_property
    def _users(self) -> PreparedQuery:
        guid: Any = bindparam("guid")
        picks, total = [statements.users_ids(guid)], statements.users_total(guid)
        return PreparedQuery(statements.placed_statement(picks, total, *self.card_columns))

    def cards_of(self, rows: Iterable[Row]) -> list[ModPresenter]:
        """Return the cards in rows of `card_columns`."""
        return [card_of(row, self._figures_of(row)) for row in rows]

    def _figures_of(self, row: Row, others: int = len(statements.CARD_COLUMNS)) -> tuple[Figure, ...]:
        numbers = row[others:]
        if not any(numbers):
            return ()
        both = zip(self._figures, numbers, strict=True)
        # A sum is a decimal number to PostgreSQL.
        return tuple((column.figure[0], column.figure[1], int(number)) for column, number in both if number)

    def listing(self, params: ListParams) -> Listing:
        """Return one page of published mods as cards."""
        total, rows = self.catalogue.rows(params, self._cards_statement)
        return Listing(self.cards_of(rows), total, params)

    def first_cards(self, params: ListParams) -> list[ModPresenter]:
        """Return the first cards of a list of all mods, without their number."""
        return self.cards_of(row[1:] for row in self.catalogue.first_rows(params, self._first_statement))

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

    def users(self, guid: str) -> tuple[list[ModPresenter], int]:
        """Return (some published mods that directly require this one, number of such mods)."""
        rows = self.reader.rows(self._users, guid=guid)
        return self.cards_of(row[2:] for row in rows), rows[0][1] if rows else 0


def _named(selection: ModSelection) -> dict[str, str]:
    return {name: encode(list(ids)).decode() for name, ids in selection._asdict().items()}
