"""Reads the data of the public pages from the public tables, in a constant number of statements."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from modhub.base.errors import busy
from modhub.catalogue.chain_archives import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_MODS
from modhub.catalogue.chains import install_order
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import selections, statements
from modhub.catalogue.pages.queries.chain_mods import CHAIN_SHOWN, ChainMod, chain_mods, shown_of_chain
from modhub.catalogue.pages.queries.games import CuratedGames
from modhub.catalogue.pages.queries.updates import ModUpdate, card_of, newest_updates
from modhub.catalogue.queries import note_of
from modhub.catalogue.read_service import CatalogueReader, ListParams
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument, NoteDocument
from modhub.db import from_micros, iso
from modhub.db.changes import ChangeEntry
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.http.payload import encode
from modhub.http.responses import MAX_COMPOSITIONS, ContentChanged
from modhub.interfaces import ModSelection

NOTES_PER_PAGE = 10
"""Changelog entries per page."""
MAX_DEPENDENTS_COUNTED = 200
"""Maximum number of dependent mods that are counted and sorted, to bound the time for popular mods."""
DEPENDENTS_SHOWN = 8
"""Dependent mods listed on a mod's page."""
OTHER_MODS_SHOWN = 5
"""Other mods of the author listed on a mod's page."""
_Chain = tuple[tuple[ChainMod, ...], int, tuple[str, ...]]
"""The mods to install in order, how many of them are left out, and the missing GUIDs."""


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
    """The mods that a mod's page lists. ``conflicts`` are pairs of a GUID and its document or None."""

    chain: tuple[ChainMod, ...]
    chain_hidden: int
    """How many mods before the last one the page leaves out."""
    missing: tuple[str, ...]
    conflicts: tuple[tuple[str, bytes | None], ...]
    users: tuple[bytes, ...]
    users_total: int
    others: tuple[bytes, ...]

    @property
    def fit_one_archive(self) -> bool:
        """Whether the mod and what it requires can be had as one archive, as far as the listed ones tell."""
        mods, size = len(self.chain) + self.chain_hidden, sum(mod.size for mod in self.chain)
        return not self.missing and 1 < mods <= MAX_ARCHIVE_MODS and size <= MAX_ARCHIVE_BYTES

    @property
    def many_users(self) -> bool:
        """Whether there are more dependent mods than are counted."""
        return self.users_total > MAX_DEPENDENTS_COUNTED


@dataclass(frozen=True, slots=True)
class ModPage:
    """What the page of a mod shows. ``sha256`` is that of the code file."""

    mod: ModPresenter
    relations: Relations
    notes: NotesPage
    sha256: str | None


def _guid_params(guids: Iterable[str]) -> dict[str, str]:
    return {f"guid{index}": fold_guid(guid) for index, guid in enumerate(guids)}


def _presenter_of(facts: Row) -> ModPresenter:
    document, owner, ups, downs, image_facts = facts[:5]
    return ModPresenter(bytes(document), image_facts, owner=owner, votes=(ups, downs))


class PageReader:
    """Reads the data of the public pages; one per application."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._games = CuratedGames(())
        self._facts = reader.prepare(statements.facts_statement())
        self._notes = reader.prepare(statements.notes_page_statement())
        self._named = reader.prepare(statements.named_statement())
        self._users = reader.prepare(statements.users_statement())
        self._users_total = reader.prepare(statements.users_total_statement())
        self._others = reader.prepare(statements.others_statement())
        self._sitemap = reader.prepare(statements.sitemap_statement())
        self._highest = reader.prepare(statements.highest_statement())
        self._authors = reader.prepare(statements.authors_statement())
        self._last_author = reader.prepare(statements.last_author_statement())
        self._deletions = reader.prepare(statements.deletions_statement())
        dialect, selected = reader.dialect, selections.selected_page_statement
        self._selected_total = reader.prepare(selections.selected_total_statement(dialect))
        self._selected_cards = reader.prepare(selected(dialect, statements.CARD_COLUMNS))
        self._selected_updates = reader.prepare(selected(dialect, statements.UPDATE_COLUMNS))

    def listing(self, params: ListParams) -> Listing:
        """Return one page of published mods as cards."""
        total, rows = self.catalogue.rows(params, statements.cards_statement)
        return Listing([card_of(row) for row in rows], total, params)

    def updates(self, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of one page of published mods."""
        _, rows = self.catalogue.rows(params, statements.updates_statement)
        return newest_updates(rows, params)

    def selected(self, selection: ModSelection, params: ListParams) -> Listing:
        """Return one page of the selected mods as cards; of ``params`` only ``page`` and ``size`` count."""
        total, rows = self._selected_rows(self._selected_cards, selection, params)
        return Listing([card_of(row) for row in rows], total, params)

    def selected_updates(self, selection: ModSelection, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of the selected mods, at most ``params.size``."""
        return newest_updates(self._selected_rows(self._selected_updates, selection, params)[1], params)

    def _selected_rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams) -> tuple[int, list[Row]]:
        values = {name: encode(list(ids)).decode() for name, ids in selection._asdict().items()}
        total, offset = self.reader.rows(self._selected_total, **values)[0][0], (params.page - 1) * params.size
        if offset >= total:
            return total, []
        return total, self.reader.rows(page, **values, size=params.size, offset=offset)

    def deletions(self) -> list[ChangeEntry]:
        """Return the latest changes of mods that are not there any more, newest first."""
        rows = self.reader.rows(self._deletions)
        return [ChangeEntry(*row[:5], from_micros(row[5])) for row in rows]  # type: ignore[call-arg]

    def games(self) -> CuratedGames:
        """Return the curated games in display order: the same object until they change.

        Fragments that are kept have it in their keys. So it is not in the keeper of public values, which may drop it.
        """
        rows = self.catalogue.game_rows()
        if rows != self._games.rows:
            self._games = CuratedGames(rows)
        return self._games

    def changes(self, mod_id: int | None, limit: int) -> tuple[ModPresenter, list[NoteDocument]] | None:
        """Return a mod and its newest ``limit`` changelog entries; None if it is not published."""
        facts = self._facts_of(mod_id)
        return None if facts is None else (_presenter_of(facts), self._notes_of(mod_id, 0, limit))

    def detail(self, mod_id: int | None, notes_page: int) -> ModPage | None:
        """Return everything that a mod's page shows; None if the mod is not published."""
        facts = self._facts_of(mod_id)
        chain = self._chain_of(mod_id) if facts else None
        # The mod may be deleted between the two statements.
        if facts is None or chain is None:
            return None
        mod, (notes_total, sha256) = _presenter_of(facts), facts[5:]
        number, pages = clamp_notes_page(notes_page, notes_total)
        entries = self._notes_of(mod_id, (number - 1) * NOTES_PER_PAGE, NOTES_PER_PAGE)
        others = self._documents(self._others, owner=mod.owner, id=mod_id, size=OTHER_MODS_SHOWN)
        return ModPage(mod, self._relations(mod.mod, *chain, others), NotesPage(tuple(entries), number, pages), sha256)

    def preview(self, draft: ModPresenter, document: ModDocument, notes: NotesPage, sha256: str | None) -> ModPage:
        """Return a draft as its public page would show it: as ``document``; for its owner only."""
        mod = ModPresenter(encode(document), draft.image_facts, owner=draft.owner)
        chain, hidden, missing = self._chain_of_draft(document)
        own = chain_mods([encode(document)])
        return ModPage(mod, self._relations(document, (*chain, *own), hidden, missing, ()), notes, sha256)

    def _chain_of_draft(self, document: ModDocument) -> _Chain:
        """What to install before a draft, which is not stored itself."""
        reader = self.catalogue.stored
        for _ in range(MAX_COMPOSITIONS):
            stored = reader.chains([fold_guid(guid) for guid in document.requires]) if document.requires else {}
            requires = {guid: mod.requires.split() for guid, mod in stored.items()}
            order, missing = install_order([document.guid], {document.guid: document.requires, **requires})
            required = order[:-1]
            with suppress(ContentChanged):
                mods = chain_mods(reader.documents(stored[guid] for guid in required[:CHAIN_SHOWN]))
                return mods, len(required) - len(mods), tuple(missing)
        raise busy()

    def _chain_of(self, mod_id: int | None) -> _Chain | None:
        """What to install, with the mod itself; None if it is not published."""
        for _ in range(MAX_COMPOSITIONS):
            chain = self.catalogue.stored.chain(mod_id)
            if chain is None:
                return None
            with suppress(ContentChanged):
                shown = shown_of_chain(chain.install)
                mods = chain_mods(self.catalogue.stored.documents(shown))
                return mods, len(chain.install) - len(shown), tuple(chain.missing)
        raise busy()

    def _facts_of(self, mod_id: int | None) -> Row | None:
        rows = [] if mod_id is None else self.reader.rows(self._facts, id=mod_id)
        return rows[0] if rows else None

    def _notes_of(self, mod_id: int | None, offset: int, size: int) -> list[NoteDocument]:
        return [note_of(row) for row in self.reader.rows(self._notes, id=mod_id, offset=offset, size=size)]

    def _relations(
        self,
        mod: ModDocument,
        chain: tuple[ChainMod, ...],
        chain_hidden: int,
        missing: tuple[str, ...],
        others: tuple[bytes, ...],
    ) -> Relations:
        conflicts = tuple(self._named_documents(mod.conflicts_with))
        return Relations(chain, chain_hidden, missing, conflicts, *self.users(mod.guid), others)

    def users(self, guid: str) -> tuple[tuple[bytes, ...], int]:
        """Return (documents of some published mods that directly require this one, number of such mods)."""
        total: int = self.reader.rows(self._users_total, guid=guid, most=MAX_DEPENDENTS_COUNTED + 1)[0][0]
        users = (
            self._documents(self._users, guid=guid, most=MAX_DEPENDENTS_COUNTED, size=DEPENDENTS_SHOWN) if total else ()
        )
        return users, total

    def named(self, guids: Iterable[str]) -> list[tuple[str, ModPresenter | None]]:
        """Return each GUID with its mod, or None if it is not published; at most 50 GUIDs (C-UP-11)."""
        return [(guid, ModPresenter(document) if document else None) for guid, document in self._named_documents(guids)]

    def _named_documents(self, guids: Iterable[str]) -> list[tuple[str, bytes | None]]:
        listed = list(guids)
        rows = self.reader.rows(self._named, **_guid_params(listed)) if listed else []
        documents = {row[0]: bytes(row[1]) for row in rows}
        return [(guid, documents.get(fold_guid(guid))) for guid in listed]

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

    def _documents(self, statement: PreparedQuery, **values: Any) -> tuple[bytes, ...]:
        return tuple(bytes(row[0]) for row in self.reader.rows(statement, **values))
