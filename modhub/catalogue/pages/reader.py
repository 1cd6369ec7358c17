"""Reads the data of the public pages from the public tables, in a constant number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import select

from modhub.blobs.models import StoredBlob
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import ModDocument, NoteDocument, decode_mod
from modhub.catalogue.models import IS_CODE, Asset, AssetKind, Mod
from modhub.catalogue.owning.successors import SuccessorDocument, successor_document
from modhub.catalogue.pages import cards, statements
from modhub.catalogue.pages.cards import (
    MODS_IN_ROW,
    AuthorTotals,
    CuratedGames,
    GameTile,
    Listing,
    ModUpdate,
    card_of,
    newest_updates,
    present,
)
from modhub.catalogue.pages.presenter import Figure, ModPresenter
from modhub.catalogue.pages.statements import NOTES_PER_PAGE
from modhub.catalogue.reading.chain_archives import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_MODS
from modhub.catalogue.reading.chains import chains_statement, install_order
from modhub.catalogue.reading.lists import page_statement, total_statement
from modhub.catalogue.reading.service import CatalogueReader, ListParams, ListStatement
from modhub.catalogue.reading.statements import note_of
from modhub.db import from_micros
from modhub.db.changes import ChangeEntry
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.plugins.services import ModSelection
from modhub.web.payload import encode

CHAIN_SHOWN: Final = 100
"""Required mods that a page lists: nobody installs more by hand, and thousands would take seconds."""


class ChainMod(NamedTuple):
    """A mod that is to be installed."""

    id: int
    title: str
    version: str
    url: str
    size: int
    """Bytes of the code file, 0 without one."""
    has_code: bool


def _columns(mod: Any) -> list[Any]:
    """What the mod requires, and what `ChainMod` needs."""
    title, version = (select(column).where(Mod.id == mod.id).scalar_subquery() for column in (Mod.title, Mod.version))
    code = select(StoredBlob.size).join(Asset, Asset.blob_id == StoredBlob.id)
    code = code.where(Asset.mod_id == mod.id, IS_CODE)
    return [mod.requires, mod.id, title, version, code.scalar_subquery()]


_CHAINS: Final = PreparedQuery(partial(chains_statement, columns=_columns))
"""(GUID, what it requires, columns of `ChainMod`) of the mods ``guids`` and all that they require."""


def _chain_mod(mod_id: int, title: str, version: str, size: int | None) -> ChainMod:
    return ChainMod(mod_id, title, version, f"/Modhub/{mod_id}", size or 0, size is not None)


@dataclass(frozen=True, slots=True)
class NotesPage:
    """A page of a changelog."""

    entries: tuple[NoteDocument, ...]
    page: int
    pages: int


def clamp_notes_page(number: int, total: int) -> tuple[int, int]:
    """Return (valid page number, number of pages) for a changelog of ``total`` entries."""
    pages = max(1, -(-total // NOTES_PER_PAGE))
    return min(max(number, 1), pages), pages


def paginate_notes(notes: list[NoteDocument], number: int) -> NotesPage:
    """Return a page of a complete changelog."""
    number, pages = clamp_notes_page(number, len(notes))
    return NotesPage(tuple(notes[(number - 1) * NOTES_PER_PAGE : number * NOTES_PER_PAGE]), number, pages)


class Relations(NamedTuple):
    """What installing a mod takes. ``conflicts`` are pairs of a GUID and its document or None."""

    chain: tuple[ChainMod, ...]
    """The mods to install in order, the mod itself last."""
    chain_hidden: int
    """How many mods before the last one the page leaves out."""
    missing: tuple[str, ...]
    conflicts: tuple[tuple[str, ModDocument | None], ...]

    @property
    def fit_one_archive(self) -> bool:
        """Whether the mod and what it requires can be had as one archive, as far as the listed ones tell."""
        mods, size = len(self.chain) + self.chain_hidden, sum(mod.size for mod in self.chain)
        return not self.missing and 1 < mods <= MAX_ARCHIVE_MODS and size <= MAX_ARCHIVE_BYTES


@dataclass(frozen=True, slots=True)
class ModPage:
    """What the page of a mod shows: ``users`` are some mods that require it. ``sha256`` is that of the code file."""

    mod: ModPresenter
    relations: Relations
    users: list[ModPresenter]
    users_total: int
    notes: NotesPage
    sha256: str | None
    successor: SuccessorDocument | None
    others: Sequence[ModPresenter] = ()
    """Some mods of its author."""
    figures: tuple[Figure, ...] = ()
    """What features count."""

    @property
    def many_users(self) -> bool:
        """Whether more mods require it than are counted."""
        return self.users_total > statements.MAX_DEPENDENTS_COUNTED


def _notes_of(rows: str | None) -> list[NoteDocument]:
    """The entries in `statements.CHANGES` and the like."""
    return [note_of(row) for row in msgspec.json.decode(rows or "[]")]


def cards_of(rows: Iterable[Row]) -> list[ModPresenter]:
    """Return the cards in rows of `statements.CARD_COLUMNS`."""
    return [card_of(row) for row in rows]


_CARD_PAGE: Final[ListStatement] = partial(page_statement, columns=statements.CARD_COLUMNS)
_UPDATES_PAGE: Final[ListStatement] = partial(page_statement, columns=statements.UPDATE_COLUMNS)
_TOTAL: Final = PreparedQuery(total_statement())


class PageReader:
    """Reads the data of the public pages; one per application, made when all features have declared their columns."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        self.catalogue = catalogue
        self.reader = catalogue.reader
        declared, columns = catalogue.declared, statements.CARD_COLUMNS
        self._figures = declared.figures
        self._author_totals = PreparedQuery(statements.author_totals_statement(self._figures))
        figures = map(statements.figure_of, self._figures)
        self._mod_page = PreparedQuery(statements.mod_page_statement((*columns, *figures)))
        self._newest = PreparedQuery(statements.newest_statement(declared.off_front, 2 * MODS_IN_ROW))

    def _figures_of(self, numbers: Row) -> tuple[Figure, ...]:
        both = zip(self._figures, numbers, strict=True)
        # A sum is a decimal number to PostgreSQL.
        return tuple((column.figure[0], column.figure[1], int(number)) for column, number in both if number)

    def listing(self, params: ListParams) -> Listing:
        """Return one page of published mods as cards."""
        total, rows = self.catalogue.rows(params, _CARD_PAGE)
        return Listing(cards_of(rows), total, params)

    def with_successors(self, found: list[ModPresenter]) -> list[ModPresenter]:
        """Return the cards of a search, each superseded mod behind the one that takes its place, found or not."""
        if not any(card.successor for card in found):
            return found
        by_id = {card.mod.id: card for card in found}
        others = {card.successor for card in found if card.successor} - by_id.keys()
        if others:
            page = self.selected(ModSelection(mods=tuple(others)), ListParams(size=len(others)))
            by_id |= {card.mod.id: card for card in page.cards}
        ordered: dict[int, ModPresenter] = {}
        for card in found:
            if card.successor in by_id:
                ordered.setdefault(card.successor, by_id[card.successor])
            ordered.setdefault(card.mod.id, card)
        return list(ordered.values())

    def first_cards(self, params: ListParams) -> list[ModPresenter]:
        """Return the first cards of a list of all mods, without their number."""
        return cards_of(self.catalogue.first_rows(params, _CARD_PAGE))

    def selected(self, selection: ModSelection, params: ListParams) -> Listing:
        """Return one page of the selected mods as cards; of ``params`` only ``page`` and ``size`` count."""
        total, rows = self._selected_rows(statements.SELECTED_CARDS, selection, params)
        return Listing(cards_of(rows), total, params)

    def of_author(self, owner: int, params: ListParams) -> tuple[Listing, AuthorTotals]:
        """Return the same of an author's mods, and what all of them have together, in as many statements."""
        row = self.reader.rows(self._author_totals, owner=owner)[0]
        total, ups, downs = map(int, row[:3])
        cards = cards_of(self._page_rows(statements.SELECTED_CARDS, ModSelection(authors=(owner,)), params, total))
        return Listing(cards, total, params), AuthorTotals(ups, downs, self._figures_of(row[3:]))

    def _selected_rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams) -> tuple[int, list[Row]]:
        total = self.reader.rows(statements.SELECTED_TOTAL, **_parameters(selection))[0][0]
        return total, self._page_rows(page, selection, params, total)

    def _page_rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams, total: int) -> list[Row]:
        offset = (params.page - 1) * params.size
        return (
            [] if offset >= total else self.reader.rows(page, **_parameters(selection), size=params.size, offset=offset)
        )

    def users(self, guid: str) -> tuple[list[ModPresenter], int]:
        """Return (some published mods that directly require this one, number of such mods)."""
        rows = self.reader.rows(statements.USERS, guid=guid)
        return cards_of(row[2:] for row in rows), rows[0][1] if rows else 0

    def total(self) -> int:
        """Return the number of published mods."""
        return int(self.reader.rows(_TOTAL)[0][0])

    def newest(self) -> list[ModPresenter]:
        """Return the mods that were published last, as many as two rows have."""
        return cards_of(self.reader.rows(self._newest))

    def tiles(self) -> list[GameTile]:
        """Return the games with the most mods, the largest first."""
        return [
            GameTile(folded, mods, present(document, image_facts) if document else None)
            for folded, mods, document, image_facts in self.reader.rows(cards.GAME_TILES)
        ]

    def updates(self, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of one page of published mods."""
        _, rows = self.catalogue.rows(params, _UPDATES_PAGE)
        return newest_updates(rows, params)

    def selected_updates(self, selection: ModSelection, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of the selected mods, at most ``params.size``."""
        return newest_updates(self._selected_rows(statements.SELECTED_UPDATES, selection, params)[1], params)

    def deletions(self) -> list[ChangeEntry]:
        """Return the latest changes of mods that are not there any more, newest first."""
        rows = self.reader.rows(statements.DELETIONS)
        return [ChangeEntry(*row[:5], from_micros(row[5])) for row in rows]  # type: ignore[call-arg]

    def games(self) -> CuratedGames:
        """Return the curated games in display order."""
        return CuratedGames(self.catalogue.game_rows())

    def changes(self, mod_id: int | None, limit: int) -> tuple[ModPresenter, list[NoteDocument]] | None:
        """Return a mod and its newest ``limit`` changelog entries; None if it is not published."""
        rows = [] if mod_id is None else self.reader.rows(statements.CHANGES, id=mod_id, size=limit)
        return (card_of(rows[0]), _notes_of(rows[0][-1])) if rows else None

    def detail(self, mod_id: int | None, notes_page: int) -> ModPage | None:
        """Return everything that a mod's page shows; None if the mod is not published. At most two statements.

        One more where the changelog has no such page: then its last one is shown.
        """
        offset = (notes_page - 1) * NOTES_PER_PAGE
        rows = [] if mod_id is None else self.reader.rows(self._mod_page, id=mod_id, offset=offset)
        if not rows or rows[0][0] != 0:
            return None
        users_total, notes_total, notes, sha256, successor = rows[0][2:7]
        number, pages = clamp_notes_page(notes_page, notes_total)
        if number != notes_page:
            return self.detail(mod_id, number)
        cards = [cards_of(row[7:] for row in rows if row[0] == place) for place in range(3)]
        mod, conflicts = cards[0][0], {row[1]: bytes(row[7]) for row in rows if row[0] == 3}
        return ModPage(
            mod,
            self._relations_of(mod.mod, conflicts),
            cards[1],
            users_total,
            NotesPage(tuple(_notes_of(notes)), number, pages),
            sha256,
            successor_document(successor),
            cards[2],
            self._figures_of(rows[0][7 + len(statements.CARD_COLUMNS) :]),
        )

    def preview(
        self,
        draft: ModPresenter,
        document: ModDocument,
        notes: NotesPage,
        sha256: str | None,
        successor: SuccessorDocument | None,
    ) -> ModPage:
        """Return a draft as its public page would show it: as ``document``; for its owner only."""
        mod = ModPresenter(document, draft.image_facts.values(), owner=draft.owner)
        rivals = [fold_guid(guid) for guid in document.conflicts_with]
        conflicts = self.catalogue.get_documents(rivals) if rivals else {}
        relations = self._relations_of(document, conflicts)
        return ModPage(mod, relations, *self.users(document.guid), notes, sha256, successor)

    def _relations_of(self, mod: ModDocument, conflicts: Mapping[str, bytes]) -> Relations:
        """Return what installing a mod takes, published or not; one statement, none if it requires nothing.

        ``conflicts`` are the documents of those that it names and that are published, by folded GUID.
        """
        guids = encode([fold_guid(guid) for guid in mod.requires]).decode()
        rows = self.reader.rows(_CHAINS, guids=guids) if mod.requires else []
        by_guid = {row[0]: row for row in rows if row[1] is not None}
        requires = {mod.guid: mod.requires, **{guid: row[1].split() for guid, row in by_guid.items()}}
        order, missing = install_order([mod.guid], requires)
        shown = [_chain_mod(*by_guid[guid][2:]) for guid in order[:-1][:CHAIN_SHOWN]]
        rivals = {guid: decode_mod(document) for guid, document in conflicts.items()}
        code = next((file.bytes for file in mod.assets if file.kind == AssetKind.CODE), None)
        return Relations(
            (*shown, _chain_mod(mod.id, mod.title, mod.version, code)),
            len(order) - 1 - len(shown),
            tuple(missing),
            tuple((guid, rivals.get(fold_guid(guid))) for guid in mod.conflicts_with),
        )


def _parameters(selection: ModSelection) -> dict[str, str]:
    return {name: encode(list(ids)).decode() for name, ids in selection._asdict().items()}
