"""Reads the data of the public pages from the public tables, in a constant number of statements."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from modhub.base.errors import busy
from modhub.catalogue.chains import install_order
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.chain_mods import CHAIN_SHOWN, ChainMod, chain_mods, shown_of_chain
from modhub.catalogue.read_service import CatalogueReader, ListParams, note_of
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument, NoteDocument
from modhub.content.folding import fold_game
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.http.payload import encode
from modhub.http.responses import MAX_COMPOSITIONS, ContentChanged

NOTES_PER_PAGE = 10
"""Changelog entries per page."""
MAX_DEPENDENTS_COUNTED = 200
"""Maximum number of dependent mods that are counted and sorted, to bound the time for popular mods."""
DEPENDENTS_SHOWN = 8
"""Dependent mods listed on a mod's page."""
OTHER_MODS_SHOWN = 5
"""Other mods of the author listed on a mod's page."""


class ModCard(ModPresenter):
    """A mod in a list."""

    def __init__(
        self,
        document: bytes,
        owner: int,
        ups: int,
        downs: int,
        *,
        image_facts: str | None = None,
        changed: datetime | None = None,
    ) -> None:
        super().__init__(document, image_facts)
        self.document_bytes = document
        """The undecoded document, for cache keys."""
        self.changed = changed
        """The time of the last change, for lists that need it without decoding the document."""
        self.owner = owner
        self.ups = ups
        self.downs = downs
        self.author: str | None = None
        self.since: datetime | None = None
        """When the author's account was created."""


def card_of(row: Row) -> ModCard:
    """Return the card in a row of :data:`modhub.catalogue.pages.queries.statements.CARD_COLUMNS`."""
    return ModCard(bytes(row[0]), *row[1:4], image_facts=row[5], changed=from_micros(row[4]))


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[ModCard]
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
    def many_users(self) -> bool:
        """Whether there are more dependent mods than are counted."""
        return self.users_total > MAX_DEPENDENTS_COUNTED


class ModDetail(ModCard):
    """A mod on its own page; ``document`` is bytes."""

    relations: Relations
    notes: NotesPage
    sha256: str | None


@dataclass(frozen=True, slots=True)
class CuratedGame:
    """A curated game."""

    name: str
    display_name: str
    icon: str | None


class CuratedGames(dict[str, CuratedGame]):
    """The curated games by folded name. Hashed by identity, so that it can be part of a cache key."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, source: list[Any]) -> None:
        super().__init__(
            (fold_game(game["name"]), CuratedGame(game["name"], game["displayName"], game["iconUrl"]))
            for game in source
        )
        self.source = source

    def __eq__(self, other: object) -> bool:
        return self is other


def _guid_params(guids: Iterable[str]) -> dict[str, str]:
    return {f"guid{index}": fold_guid(guid) for index, guid in enumerate(guids)}


class PageReader:
    """Reads the data of the public pages; one per application."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._games = CuratedGames([])
        self._facts = reader.prepare(statements.facts_statement())
        self._notes = reader.prepare(statements.notes_page_statement())
        self._named = reader.prepare(statements.named_statement())
        self._users = reader.prepare(statements.users_statement())
        self._users_total = reader.prepare(statements.users_total_statement())
        self._others = reader.prepare(statements.others_statement())
        self._sitemap = reader.prepare(statements.sitemap_statement())
        self._highest = reader.prepare(statements.highest_statement())

    def listing(self, params: ListParams) -> Listing:
        """Return one page of published mods as cards."""
        total, rows = self.catalogue.rows(params, statements.cards_statement)
        return Listing([card_of(row) for row in rows], total, params)

    def games(self) -> CuratedGames:
        """Return the curated games in display order; the same object until they change."""
        games = self.catalogue.games()
        if games is not self._games.source:
            self._games = CuratedGames(games)
        return self._games

    def changes(self, mod_id: int | None, limit: int) -> tuple[ModCard, list[NoteDocument]] | None:
        """Return a mod and its newest ``limit`` changelog entries; None if it is not published."""
        facts = self._facts_of(mod_id)
        if facts is None:
            return None
        return ModCard(bytes(facts[0]), *facts[1:4], image_facts=facts[4]), self._notes_of(mod_id, 0, limit)

    def detail(self, mod_id: int | None, notes_page: int) -> ModDetail | None:
        """Return everything that a mod's page shows; None if the mod is not published."""
        facts = self._facts_of(mod_id)
        chain = self._chain_of(mod_id) if facts else None
        # The mod may be deleted between the two statements.
        if facts is None or chain is None:
            return None
        document, owner, ups, downs, image_facts, notes_total, sha256 = facts
        detail = ModDetail(bytes(document), owner, ups, downs, image_facts=image_facts)
        detail.sha256 = sha256
        number, pages = clamp_notes_page(notes_page, notes_total)
        detail.notes = NotesPage(
            tuple(self._notes_of(mod_id, (number - 1) * NOTES_PER_PAGE, NOTES_PER_PAGE)), number, pages
        )
        others = self._documents(self._others, owner=owner, id=mod_id, size=OTHER_MODS_SHOWN)
        detail.relations = self._relations(detail.mod, *chain, others)
        return detail

    def preview(
        self, document: ModDocument, owner: int, notes: NotesPage, sha256: str | None, image_facts: str | None = None
    ) -> ModDetail:
        """Return a draft as its public page would show it; for its owner only."""
        detail = ModDetail(encode(document), owner, 0, 0, image_facts=image_facts)
        reader = self.catalogue.stored
        for _ in range(MAX_COMPOSITIONS):
            stored = reader.chains([fold_guid(guid) for guid in document.requires]) if document.requires else {}
            requires = {guid: mod.requires.split() for guid, mod in stored.items()}
            order, missing = install_order([document.guid], {document.guid: document.requires, **requires})
            with suppress(ContentChanged):
                # The draft itself comes last, and is not stored.
                shown = order[:-1][:CHAIN_SHOWN]
                required = chain_mods(reader.documents(stored[guid] for guid in shown))
                break
        else:
            raise busy()
        detail.sha256 = sha256
        detail.notes = notes
        chain = (*required, *chain_mods([detail.document_bytes]))
        detail.relations = self._relations(document, chain, len(order) - len(chain), tuple(missing), ())
        return detail

    def _chain_of(self, mod_id: int | None) -> tuple[tuple[ChainMod, ...], int, tuple[str, ...]] | None:
        """The mods to install in order, how many of them are left out, and the missing GUIDs.

        None if the mod is not published.
        """
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

    def sitemap(self, above: int, upto: int) -> "list[tuple[int, str]]":
        """Return (id, time of change) of the published mods with ``above`` < id <= ``upto``."""
        rows = self.reader.rows(self._sitemap, above=above, upto=upto)
        return [(row[0], iso(from_micros(row[1]))) for row in rows]

    def highest(self) -> int:
        """Return the highest id of a published mod, 0 if there is none."""
        return self.reader.rows(self._highest)[0][0] or 0

    def _documents(self, statement: PreparedQuery, **values: Any) -> tuple[bytes, ...]:
        return tuple(bytes(row[0]) for row in self.reader.rows(statement, **values))
