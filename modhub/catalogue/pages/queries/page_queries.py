"""Reads the data of the public pages from the public tables, in a constant number of statements."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from modhub.base.composed_body import ContentChanged
from modhub.base.errors import busy
from modhub.catalogue.chain_archives import MAX_ARCHIVE_BYTES, MAX_ARCHIVE_MODS
from modhub.catalogue.chains import install_order
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import selections, statements
from modhub.catalogue.pages.queries.card_queries import CardReader, RelatedCards
from modhub.catalogue.pages.queries.chain_mods import CHAIN_SHOWN, ChainMod, chain_mods, shown_of_chain
from modhub.catalogue.pages.queries.games import CuratedGames
from modhub.catalogue.pages.queries.updates import ModUpdate, newest_updates
from modhub.catalogue.queries import note_of
from modhub.catalogue.read_service import CatalogueReader, ListParams
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument, NoteDocument
from modhub.db import from_micros, iso
from modhub.db.changes import ChangeEntry
from modhub.db.raw_queries import Row
from modhub.plugins.services import ModSelection
from modhub.web.payload import encode
from modhub.web.responses import MAX_COMPOSITIONS

NOTES_PER_PAGE = 10
"""Changelog entries per page."""
_Chain = tuple[tuple[ChainMod, ...], int, tuple[str, ...]]
"""The mods to install in order, how many of them are left out, and the missing GUIDs."""


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


def _guid_params(guids: Iterable[str]) -> dict[str, str]:
    return {f"guid{index}": fold_guid(guid) for index, guid in enumerate(guids)}


def _presenter_of(facts: Row) -> ModPresenter:
    document, owner, ups, downs, image_facts = facts[:5]
    return ModPresenter(bytes(document), image_facts, owner=owner, votes=(ups, downs))


class PageReader(CardReader):
    """Reads the data of the public pages; one per application."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        super().__init__(catalogue)
        reader = self.reader
        self._games = CuratedGames(())
        self._facts = reader.prepare(statements.facts_statement())
        self._notes = reader.prepare(statements.notes_page_statement())
        self._named = reader.prepare(statements.named_statement())
        self._sitemap = reader.prepare(statements.sitemap_statement())
        self._highest = reader.prepare(statements.highest_statement())
        self._authors = reader.prepare(statements.authors_statement())
        self._last_author = reader.prepare(statements.last_author_statement())
        self._deletions = reader.prepare(statements.deletions_statement())
        updates = selections.selected_page_statement(reader.dialect, statements.UPDATE_COLUMNS)
        self._selected_updates = reader.prepare(updates)

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
        related = RelatedCards(*self.users(mod.mod.guid), self.others(mod.owner, mod_id))
        relations, notes = self._relations(mod.mod, *chain), NotesPage(tuple(entries), number, pages)
        return ModPage(mod, relations, related, notes, sha256)

    def preview(self, draft: ModPresenter, document: ModDocument, notes: NotesPage, sha256: str | None) -> ModPage:
        """Return a draft as its public page would show it: as ``document``; for its owner only."""
        mod = ModPresenter(encode(document), draft.image_facts, owner=draft.owner)
        chain, hidden, missing = self._chain_of_draft(document)
        own = chain_mods([encode(document)])
        related = RelatedCards(*self.users(document.guid), [])
        return ModPage(mod, self._relations(document, (*chain, *own), hidden, missing), related, notes, sha256)

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
    ) -> Relations:
        return Relations(chain, chain_hidden, missing, tuple(self._named_documents(mod.conflicts_with)))

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
