"""Reads the data of the public pages from the public tables, in a constant number of statements."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from modhub.catalogue.chain_archives import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_MODS
from modhub.catalogue.lookup_queries import few_documents_statement
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import selections, statements
from modhub.catalogue.pages.queries.card_queries import CardReader, RelatedCards
from modhub.catalogue.pages.queries.chain_mods import ChainMod, ChainPartReader
from modhub.catalogue.pages.queries.games import CuratedGames
from modhub.catalogue.pages.queries.statements import NOTES_PER_PAGE
from modhub.catalogue.pages.queries.updates import ModUpdate, card_of, newest_updates
from modhub.catalogue.queries import note_of
from modhub.catalogue.read_service import CatalogueReader, ListParams
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument, NoteDocument
from modhub.catalogue.successors import SuccessorDocument, successor_document
from modhub.db import from_micros, iso
from modhub.db.changes import ChangeEntry
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.services import ModSelection
from modhub.web.payload import encode


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
    chain_hidden: int
    """How many mods before the last one the page leaves out."""
    missing: tuple[str, ...]
    conflicts: tuple[tuple[str, bytes | None], ...]

    @property
    def fit_one_archive(self) -> bool:
        """Whether the mod and what it requires can be had as one archive, as far as the listed ones tell."""
        mods, size = len(self.chain) + self.chain_hidden, sum(mod.size for mod in self.chain)
        return not self.missing and 1 < mods <= MAX_ARCHIVE_MODS and size <= MAX_ARCHIVE_BYTES


@dataclass(frozen=True, slots=True)
class ModPage:
    """What the page of a mod shows. ``sha256`` is that of the code file."""

    mod: ModPresenter
    relations: Relations
    related: RelatedCards
    notes: NotesPage
    sha256: str | None
    successor: SuccessorDocument | None = None


def _by_guid(guids: list[str], documents: Mapping[str, bytes]) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((guid, documents.get(fold_guid(guid))) for guid in guids)


def _notes_of(rows: str | None) -> list[NoteDocument]:
    """The entries in `statements.changes_statement` and the like."""
    return [note_of(row) for row in msgspec.json.decode(rows or "[]")]


class PageReader(CardReader):
    """Reads the data of the public pages; one per application."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        super().__init__(catalogue)
        reader = self.reader
        self._games = CuratedGames(())
        self._chains = ChainPartReader(reader)
        self._changes = PreparedQuery(statements.changes_statement())
        self._named = PreparedQuery(few_documents_statement(reader.dialect))
        self._sitemap = PreparedQuery(statements.sitemap_statement())
        self._highest = PreparedQuery(statements.highest_statement())
        self._authors = PreparedQuery(statements.authors_statement())
        self._last_author = PreparedQuery(statements.last_author_statement())
        self._deletions = PreparedQuery(statements.deletions_statement())
        updates = selections.selected_page_statement(reader.dialect, statements.UPDATE_COLUMNS)
        self._selected_updates = PreparedQuery(updates)

    def updates(self, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of one page of published mods."""
        _, rows = self.catalogue.rows(params, statements.updates_statement)
        return newest_updates(rows, params)

    def selected_updates(self, selection: ModSelection, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of the selected mods, at most ``params.size``."""
        return newest_updates(self._selected_rows(self._selected_updates, selection, params)[1], params)

    def deletions(self) -> list[ChangeEntry]:
        """Return the latest changes of mods that are not there any more, newest first."""
        rows = self.reader.rows(self._deletions)
        return [ChangeEntry(*row[:5], from_micros(row[5])) for row in rows]  # type: ignore[call-arg]

    def games(self) -> CuratedGames:
        """Return the curated games in display order: the same object until they change.

        Fragments that are kept have it in their keys.
        """
        rows = self.catalogue.game_rows()
        if rows != self._games.rows:
            self._games = CuratedGames(rows)
        return self._games

    def changes(self, mod_id: int | None, limit: int) -> tuple[ModPresenter, list[NoteDocument]] | None:
        """Return a mod and its newest ``limit`` changelog entries; None if it is not published."""
        rows = [] if mod_id is None else self.reader.rows(self._changes, id=mod_id, size=limit)
        return (card_of(rows[0]), _notes_of(rows[0][-1])) if rows else None

    @cached_property
    def _mod_page(self) -> PreparedQuery:
        return PreparedQuery(statements.mod_page_statement(self.reader.dialect, self.card_columns))

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
        cards = [self.cards_of(row[7:] for row in rows if row[0] == place) for place in range(3)]
        mod, conflicts = cards[0][0], {row[1]: bytes(row[7]) for row in rows if row[0] == 3}
        return ModPage(
            mod,
            Relations(*self._chains.read(mod.mod), _by_guid(mod.mod.conflicts_with, conflicts)),
            RelatedCards(cards[1], users_total, cards[2]),
            NotesPage(tuple(_notes_of(notes)), number, pages),
            sha256,
            successor_document(successor),
        )

    def preview(self, draft: ModPresenter, document: ModDocument, notes: NotesPage, sha256: str | None) -> ModPage:
        """Return a draft as its public page would show it: as ``document``; for its owner only."""
        mod = ModPresenter(encode(document), draft.image_facts, owner=draft.owner)
        related = RelatedCards(*self.users(document.guid), [])
        relations = Relations(*self._chains.read(document), self.named(document.conflicts_with))
        return ModPage(mod, relations, related, notes, sha256)

    def named(self, guids: list[str]) -> tuple[tuple[str, bytes | None], ...]:
        """Return each GUID with the document of its mod, or None if it is not published."""
        folded = encode([fold_guid(guid) for guid in guids]).decode()
        rows = self.reader.rows(self._named, guids=folded) if guids else []
        return _by_guid(guids, {row[0]: bytes(row[1]) for row in rows})

    def sitemap(self, above: int, upto: int) -> list[tuple[int, str]]:
        """Return (id, time of change) of the published mods with ``above`` < id <= ``upto``."""
        rows = self.reader.rows(self._sitemap, above=above, upto=upto)
        return [(row[0], iso(from_micros(row[1]))) for row in rows]

    def sitemap_of_authors(self, above: int, upto: int) -> list[tuple[int, str]]:
        """Return (author, time of change) of the authors of published mods with ``above`` < id <= ``upto``."""
        return [(row[0], iso(from_micros(row[1]))) for row in self.reader.rows(self._authors, above=above, upto=upto)]

    def last_author(self) -> int:
        """Return the highest id of an author of a published mod, 0 if there is none."""
        return self.reader.rows(self._last_author)[0][0] or 0

    def highest(self) -> int:
        """Return the highest id of a published mod, 0 if there is none."""
        return self.reader.rows(self._highest)[0][0] or 0
