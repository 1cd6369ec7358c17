"""What the public pages show, gathered from the public tables in a number of statements that does not grow."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from modhub.catalogue.documents import AssetDocument, ModDocument, NoteDocument
from modhub.catalogue.finding import Catalogue, Wish, install_order
from modhub.catalogue.models import Kind
from modhub.catalogue.pages import statements
from modhub.db import from_micros, iso
from modhub.folding import fold_game
from modhub.markup import to_text

CANDIDATES = 200
"""How many of those that use a mod are counted and chosen from, so that a mod that everybody needs is as fast."""
USERS = 8
"""How many of the mods that use a mod are named on its page."""
OTHERS = 5
"""How many other mods of its author."""
SUMMARY = 160
"""Characters of a card's summary."""
_SUMMARY_SOURCE = 12 * SUMMARY
"""Characters of HTML that are looked through for it."""
_decode = msgspec.json.Decoder(ModDocument).decode


def beginning(cleaned: str) -> str:
    """As much of cleaned HTML as a summary can need, without a tag that would be cut in two."""
    if len(cleaned) <= _SUMMARY_SOURCE:
        return cleaned
    part = cleaned[:_SUMMARY_SOURCE]
    opened = part.rfind("<")
    return part[:opened] if opened > part.rfind(">") else part


class Shown:
    """A mod as pages show it: its document and what follows from it."""

    def __init__(self, document: ModDocument | bytes) -> None:
        self.document = document

    @cached_property
    def mod(self) -> ModDocument:
        """The document, read when something of it is first asked for."""
        return _decode(self.document) if isinstance(self.document, bytes) else self.document

    @cached_property
    def summary(self) -> str:
        """The description as one plain line."""
        return to_text(beginning(self.mod.description), SUMMARY)

    @cached_property
    def code(self) -> AssetDocument | None:
        """The code file."""
        return next((asset for asset in self.mod.assets if asset.kind == Kind.CODE), None)

    @cached_property
    def css(self) -> AssetDocument | None:
        """The css file; it has no effect anywhere."""
        return next((asset for asset in self.mod.assets if asset.kind == Kind.CSS), None)

    @cached_property
    def images(self) -> list[AssetDocument]:
        """The images as uploaded."""
        return [asset for asset in self.mod.assets if asset.kind == Kind.IMAGE]

    @property
    def size(self) -> int:
        """Bytes of the code file."""
        return self.code.bytes if self.code else 0


class Card(Shown):
    """A mod in a list."""

    def __init__(
        self, document: ModDocument | bytes, owner: int, ups: int, downs: int, changed: int | None = None
    ) -> None:
        super().__init__(document)
        self.changed = changed
        """Microseconds since 1970, where a list needs it before the document is read."""
        self.owner = owner
        self.ups = ups
        self.downs = downs
        self.author: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[Card]
    total: int
    wish: Wish

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.wish.size))


class Detail(Card):
    """A mod on its own page."""

    chain: list[Shown]
    missing: list[str]
    conflicts: list[tuple[str, Shown | None]]
    users: list[Shown]
    users_total: int
    others: list[Shown]
    notes: list[NoteDocument]
    sha256: str | None

    @property
    def many_users(self) -> bool:
        """Whether more use it than are counted."""
        return self.users_total > CANDIDATES

    @property
    def total_size(self) -> int:
        """Bytes of all code files of the chain."""
        return sum(one.size for one in self.chain)


@dataclass(frozen=True, slots=True)
class Curated:
    """A curated game."""

    name: str
    shown: str
    icon: str | None


class Games(dict[str, Curated]):
    """The curated games by identity. Hashed as an object, so that what is made from them can be kept."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, source: list[Any]) -> None:
        super().__init__(
            (fold_game(game["name"]), Curated(game["name"], game["displayName"], game["iconUrl"])) for game in source
        )
        self.source = source

    def __eq__(self, other: object) -> bool:
        return self is other


def _numbered(guids: Iterable[str]) -> dict[str, str]:
    return {f"guid{at}": guid for at, guid in enumerate(guids)}


class PageReader:
    """The reading side of the pages; one for an application."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.reader = reader = catalogue.reader
        self._games = Games([])
        self._facts = reader.prepare(statements.facts_statement())
        self._named = reader.prepare(statements.named_statement())
        self._chains = reader.prepare(statements.chains_statement())
        self._users = reader.prepare(statements.users_statement())
        self._users_total = reader.prepare(statements.users_total_statement())
        self._others = reader.prepare(statements.others_statement())
        self._sitemap = reader.prepare(statements.sitemap_statement())
        self._highest = reader.prepare(statements.highest_statement())

    def listing(self, wish: Wish) -> Listing:
        """One page of published mods, as cards."""
        total, rows = self.catalogue.rows(wish, statements.cards_statement)
        return Listing([Card(bytes(row[0]), *row[1:]) for row in rows], total, wish)

    def games(self) -> Games:
        """The curated games by identity, in the order in which they are shown; one object while they are the same."""
        found = self.catalogue.games()
        if found != self._games.source:
            self._games = Games(found)
        return self._games

    def detail(self, mod_id: int | None) -> Detail | None:
        """All that a mod's page shows; None when it is not published."""
        chain = self.catalogue.chain(mod_id)
        facts = self.reader.rows(self._facts, id=mod_id) if chain else []
        notes = self.catalogue.notes(mod_id) if chain else None
        # A mod deleted between two of these statements is not there.
        if chain is None or not facts or notes is None:
            return None
        owner, ups, downs, sha256 = facts[0]
        install = [Shown(document) for document in chain.install]
        found = Detail(install[-1].mod, owner, ups, downs)
        found.chain = install
        found.missing = chain.missing
        found.sha256 = sha256
        found.notes = notes
        found.conflicts = self.named(found.mod.conflicts_with)
        self._find_users(found)
        found.others = self._shown(self._others, owner=owner, id=mod_id, size=OTHERS)
        return found

    def preview(self, document: ModDocument, owner: int, notes: list[NoteDocument], sha256: str | None) -> Detail:
        """A draft as its page would be; only for its owner."""
        found = Detail(document, owner, 0, 0)
        rows = self.reader.rows(self._chains, **_numbered(document.requires)) if document.requires else []
        known = {row[0]: row for row in rows if row[1] is not None}
        needs = {document.guid: document.requires, **{guid: row[3].split() for guid, row in known.items()}}
        order, found.missing = install_order(document.guid, needs)
        found.chain = [Shown(bytes(known[guid][2])) for guid in order[:-1]]
        found.chain.append(found)
        found.sha256 = sha256
        found.notes = notes
        found.conflicts = self.named(document.conflicts_with)
        self._find_users(found)
        found.others = []
        return found

    def named(self, guids: Iterable[str]) -> list[tuple[str, Shown | None]]:
        """Each GUID with its mod, None where that is not published; at most 50 GUIDs (interface, Limits)."""
        wanted = list(guids)
        if not wanted:
            return []
        rows = self.reader.rows(self._named, **_numbered(wanted))
        found = {row[0]: Shown(bytes(row[1])) for row in rows}
        return [(guid, found.get(guid)) for guid in wanted]

    def sitemap(self, above: int, upto: int) -> "list[tuple[int, str]]":
        """(id, time of change) of the published mods with ids above ``above``, up to ``upto``."""
        rows = self.reader.rows(self._sitemap, above=above, upto=upto)
        return [(row[0], iso(from_micros(row[1]))) for row in rows]

    def highest(self) -> int:
        """The highest id of a published mod, 0 when there is none."""
        return self.reader.rows(self._highest)[0][0] or 0

    def _find_users(self, found: Detail) -> None:
        guid = found.mod.guid
        found.users_total = self.reader.rows(self._users_total, guid=guid, most=CANDIDATES + 1)[0][0]
        found.users = self._shown(self._users, guid=guid, most=CANDIDATES, size=USERS) if found.users_total else []

    def _shown(self, statement: Any, **values: Any) -> "list[Shown]":
        return [Shown(bytes(row[0])) for row in self.reader.rows(statement, **values)]
