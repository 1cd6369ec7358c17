"""What the public pages show, gathered from the public tables in a number of statements that does not grow."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from modhub.catalogue.chains import install_order
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.read_service import CatalogueReader, ListParams, note_of
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument, NoteDocument
from modhub.db import from_micros, iso
from modhub.folding import fold_game
from modhub.payload import encode
from modhub.raw_queries import PreparedQuery, Row

NOTES_PER_PAGE = 10
"""Changelog entries on one page."""
MAX_DEPENDENTS_COUNTED = 200
"""How many of those that use a mod are counted and chosen from, so that a mod that everybody needs is as fast."""
DEPENDENTS_SHOWN = 8
"""How many of the mods that use a mod are named on its page."""
OTHER_MODS_SHOWN = 5
"""How many other mods of its author."""


class ModCard(ModPresenter):
    """A mod in a list."""

    def __init__(
        self,
        document: bytes,
        owner: int,
        ups: int,
        downs: int,
        *,
        odd: str | None = None,
        changed: datetime | None = None,
    ) -> None:
        super().__init__(document, odd)
        self.document_bytes = document
        """The document as it is, for what is kept by it."""
        self.changed = changed
        """The time of the last change, where a list needs it before the document is read."""
        self.owner = owner
        self.ups = ups
        self.downs = downs
        self.author: str | None = None
        self.since: datetime | None = None
        """When the author's account was made."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[ModCard]
    total: int
    wish: ListParams

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.wish.size))


@dataclass(frozen=True, slots=True)
class NotesPage:
    """A page of a changelog."""

    shown: tuple[NoteDocument, ...]
    page: int
    pages: int


def notes_at(asked: int, total: int) -> tuple[int, int]:
    """(page that is shown, number of pages) of a changelog of ``total`` entries."""
    pages = max(1, -(-total // NOTES_PER_PAGE))
    return min(max(asked, 1), pages), pages


def notes_of(notes: list[NoteDocument], asked: int) -> NotesPage:
    """A page of a changelog that has been read whole."""
    number, pages = notes_at(asked, len(notes))
    return NotesPage(tuple(notes[(number - 1) * NOTES_PER_PAGE : number * NOTES_PER_PAGE]), number, pages)


class Relations(NamedTuple):
    """The other mods that a mod's page names, as their documents. ``conflicts``: a GUID, its mod where it is here."""

    chain: tuple[bytes, ...]
    missing: tuple[str, ...]
    conflicts: tuple[tuple[str, bytes | None], ...]
    users: tuple[bytes, ...]
    users_total: int
    others: tuple[bytes, ...]

    @property
    def many_users(self) -> bool:
        """Whether more use it than are counted."""
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
    shown: str
    icon: str | None


class CuratedGames(dict[str, CuratedGame]):
    """The curated games by identity. Hashed as an object, so that what is made from them can be kept."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, source: list[Any]) -> None:
        super().__init__(
            (fold_game(game["name"]), CuratedGame(game["name"], game["displayName"], game["iconUrl"]))
            for game in source
        )
        self.source = source

    def __eq__(self, other: object) -> bool:
        return self is other


def _numbered(guids: Iterable[str]) -> dict[str, str]:
    return {f"guid{at}": fold_guid(guid) for at, guid in enumerate(guids)}


class PageReader:
    """The reading side of the pages; one for an application."""

    def __init__(self, catalogue: CatalogueReader) -> None:
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._games = CuratedGames([])
        self._facts = reader.prepare(statements.facts_statement())
        self._notes = reader.prepare(statements.notes_page_statement())
        self._named = reader.prepare(statements.named_statement())
        self._chains = reader.prepare(statements.chains_statement())
        self._users = reader.prepare(statements.users_statement())
        self._users_total = reader.prepare(statements.users_total_statement())
        self._others = reader.prepare(statements.others_statement())
        self._sitemap = reader.prepare(statements.sitemap_statement())
        self._highest = reader.prepare(statements.highest_statement())

    def listing(self, wish: ListParams) -> Listing:
        """One page of published mods, as cards."""
        total, rows = self.catalogue.rows(wish, statements.cards_statement)
        cards = [ModCard(bytes(row[0]), *row[1:4], odd=row[5], changed=from_micros(row[4])) for row in rows]
        return Listing(cards, total, wish)

    def games(self) -> CuratedGames:
        """The curated games by identity, in the order in which they are shown; one object while they are the same."""
        found = self.catalogue.games()
        if found is not self._games.source:
            self._games = CuratedGames(found)
        return self._games

    def changes(self, mod_id: int | None, most: int) -> tuple[ModCard, list[NoteDocument]] | None:
        """A mod and the newest ``most`` entries of its changelog; None when it is not published."""
        facts = self._facts_of(mod_id)
        if facts is None:
            return None
        return ModCard(bytes(facts[0]), *facts[1:4], odd=facts[4]), self._notes_of(mod_id, 0, most)

    def detail(self, mod_id: int | None, asked: int) -> ModDetail | None:
        """All that a mod's page shows, with this page of its changelog; None when it is not published."""
        facts = self._facts_of(mod_id)
        chain = self.catalogue.chain(mod_id) if facts else None
        # A mod deleted between two of these statements is not there.
        if facts is None or chain is None:
            return None
        document, owner, ups, downs, odd, notes, sha256 = facts
        found = ModDetail(bytes(document), owner, ups, downs, odd=odd)
        found.sha256 = sha256
        number, pages = notes_at(asked, notes)
        found.notes = NotesPage(
            tuple(self._notes_of(mod_id, (number - 1) * NOTES_PER_PAGE, NOTES_PER_PAGE)), number, pages
        )
        others = self._documents(self._others, owner=owner, id=mod_id, size=OTHER_MODS_SHOWN)
        found.relations = self._relations(found.mod, tuple(chain.install), tuple(chain.missing), others)
        return found

    def preview(
        self, document: ModDocument, owner: int, notes: NotesPage, sha256: str | None, odd: str | None = None
    ) -> ModDetail:
        """A draft as its page would be; only for its owner."""
        found = ModDetail(encode(document), owner, 0, 0, odd=odd)
        rows = self.reader.rows(self._chains, **_numbered(document.requires)) if document.requires else []
        known = {row[0]: row for row in rows if row[1] is not None}
        needs = {document.guid: document.requires, **{guid: row[3].split() for guid, row in known.items()}}
        order, missing = install_order(document.guid, needs)
        chain = (*(bytes(known[guid][2]) for guid in order[:-1]), found.document_bytes)
        found.sha256 = sha256
        found.notes = notes
        found.relations = self._relations(document, chain, tuple(missing), ())
        return found

    def _facts_of(self, mod_id: int | None) -> Row | None:
        rows = [] if mod_id is None else self.reader.rows(self._facts, id=mod_id)
        return rows[0] if rows else None

    def _notes_of(self, mod_id: int | None, offset: int, size: int) -> list[NoteDocument]:
        return [note_of(row) for row in self.reader.rows(self._notes, id=mod_id, offset=offset, size=size)]

    def _relations(
        self, mod: ModDocument, chain: tuple[bytes, ...], missing: tuple[str, ...], others: tuple[bytes, ...]
    ) -> Relations:
        conflicts = tuple(self._named_documents(mod.conflicts_with))
        return Relations(chain, missing, conflicts, *self.users(mod.guid), others)

    def users(self, guid: str) -> tuple[tuple[bytes, ...], int]:
        """(the documents of some published mods that require this one themselves; how many there are)"""
        total: int = self.reader.rows(self._users_total, guid=guid, most=MAX_DEPENDENTS_COUNTED + 1)[0][0]
        users = (
            self._documents(self._users, guid=guid, most=MAX_DEPENDENTS_COUNTED, size=DEPENDENTS_SHOWN) if total else ()
        )
        return users, total

    def named(self, guids: Iterable[str]) -> list[tuple[str, ModPresenter | None]]:
        """Each GUID with its mod, None where that is not published; at most 50 GUIDs (C-UP-11)."""
        return [(guid, ModPresenter(found) if found else None) for guid, found in self._named_documents(guids)]

    def _named_documents(self, guids: Iterable[str]) -> list[tuple[str, bytes | None]]:
        wanted = list(guids)
        rows = self.reader.rows(self._named, **_numbered(wanted)) if wanted else []
        found = {row[0]: bytes(row[1]) for row in rows}
        return [(guid, found.get(fold_guid(guid))) for guid in wanted]

    def sitemap(self, above: int, upto: int) -> "list[tuple[int, str]]":
        """(id, time of change) of the published mods with ids above ``above``, up to ``upto``."""
        rows = self.reader.rows(self._sitemap, above=above, upto=upto)
        return [(row[0], iso(from_micros(row[1]))) for row in rows]

    def highest(self) -> int:
        """The highest id of a published mod, 0 when there is none."""
        return self.reader.rows(self._highest)[0][0] or 0

    def _documents(self, statement: PreparedQuery, **values: Any) -> tuple[bytes, ...]:
        return tuple(bytes(row[0]) for row in self.reader.rows(statement, **values))
