"""What else a search on pages finds beside the list: authors, and descriptions."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from modhub.catalogue.pages.queries import author_queries, description_queries, statements
from modhub.catalogue.pages.queries.card_queries import Listing
from modhub.catalogue.pages.queries.description_queries import description_words, find_word, matching
from modhub.catalogue.pages.queries.updates import card_of
from modhub.catalogue.read_service import CatalogueReader, ListParams
from modhub.catalogue.response_schemas import decode_mod
from modhub.content.folding import like_pattern, search_words
from modhub.content.limits import DESCRIPTION
from modhub.content.markup import to_text
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.services import ProfileColumns
from modhub.web.payload import encode

IN_GROUP: Final = 10
EXCERPT: Final = 70
"""Characters of a description before the word that was found, and after it."""


class FoundAuthor(NamedTuple):
    """An author whose name has the words, and the number of published mods."""

    id: int
    name: str
    mods: int


class FoundMod(NamedTuple):
    """A mod whose description has the words: text before the first of them, the word, and text after it."""

    title: str
    url: str
    before: str
    word: str
    after: str


@dataclass(frozen=True, slots=True)
class SearchGroups:
    """The groups beneath a list. ``more_…``: there are more than the group has."""

    authors: list[FoundAuthor] = field(default_factory=list)
    more_authors: bool = False
    descriptions: list[FoundMod] = field(default_factory=list)
    more_descriptions: bool = False


class GroupReader:
    """Reads the groups from the public tables; one per application. ``accounts``: where the names of authors are."""

    def __init__(self, catalogue: CatalogueReader, accounts: ProfileColumns | None) -> None:
        self._reader = reader = catalogue.reader
        dialect = reader.dialect
        self._untold = PreparedQuery(description_queries.untold_statement(dialect))
        self._described = PreparedQuery(description_queries.described_page_statement(dialect, statements.CARD_COLUMNS))
        self._described_total = PreparedQuery(description_queries.described_total_statement(dialect))
        self._has_names = accounts is not None
        if accounts is not None:
            self._authors = PreparedQuery(author_queries.found_authors_statement(accounts, dialect))
            self._authors_total = PreparedQuery(author_queries.found_authors_total_statement(accounts, dialect))

    def groups(self, q: str) -> SearchGroups:
        """Return both groups for a search."""
        authors, described = self.authors(q, IN_GROUP + 1), self._untold_mods(q, IN_GROUP + 1)
        return SearchGroups(
            authors[:IN_GROUP],
            len(authors) > IN_GROUP,
            described[:IN_GROUP],
            len(described) > IN_GROUP,
        )

    def authors(self, q: str, size: int, offset: int = 0) -> list[FoundAuthor]:
        """Return authors whose name has all words, by name."""
        values = self._name_values(q)
        if values is None:
            return []
        return [FoundAuthor(*row) for row in self._reader.rows(self._authors, **values, size=size, offset=offset)]

    def authors_total(self, q: str) -> int:
        """Return the number of these authors."""
        values = self._name_values(q)
        return 0 if values is None else int(self._reader.rows(self._authors_total, **values)[0][0])

    def described(self, params: ListParams) -> Listing:
        """Return one page of all mods whose description has all words, as cards; last changed first."""
        if not description_words(params.q):
            return Listing([], 0, params)
        match, size = matching(params.q, self._reader.dialect), params.size
        total = self._reader.rows(self._described_total, match=match)[0][0]
        offset = (params.page - 1) * size
        rows = self._reader.rows(self._described, match=match, size=size, offset=offset) if offset < total else []
        return Listing([card_of(row) for row in rows], total, params)

    def _name_values(self, q: str) -> dict[str, Any] | None:
        words = search_words(q) if self._has_names else []
        if not words:
            return None
        longest = max(words, key=len)
        others = [like_pattern(word) for word in words if word != longest]
        return {"longest": like_pattern(longest), "patterns": encode(others).decode()}

    def _untold_mods(self, q: str, size: int) -> list[FoundMod]:
        words = description_words(q)
        if not words:
            return []
        patterns = encode([like_pattern(word) for word in search_words(q)]).decode()
        match = matching(q, self._reader.dialect)
        rows = self._reader.rows(self._untold, match=match, patterns=patterns, size=size)
        return [_with_excerpt(bytes(row[0]), frozenset(words)) for row in rows]


def _with_excerpt(document: bytes, words: frozenset[str]) -> FoundMod:
    mod = decode_mod(document)
    text = to_text(mod.description, DESCRIPTION)
    start, end = find_word(text, words)
    if not end:
        return FoundMod(mod.title, mod.url, "", "", "")
    before, after = text[:start], text[end:]
    if len(before) > EXCERPT:
        before = "… " + before[-EXCERPT:].partition(" ")[2]
    if len(after) > EXCERPT:
        after = after[:EXCERPT].rpartition(" ")[0] + " …"
    return FoundMod(mod.title, mod.url, before, text[start:end], after)
