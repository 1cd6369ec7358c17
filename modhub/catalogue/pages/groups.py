"""What else a search on pages finds beside the list: authors, and descriptions."""

import re
import unicodedata
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Column, MetaData, Table, bindparam, exists, func, literal_column, select
from sqlalchemy.dialects.postgresql import TSVECTOR

from modhub.catalogue.documents import decode_mod
from modhub.catalogue.models import PublicMod, PublicText
from modhub.catalogue.pages import statements
from modhub.catalogue.pages.cards import Listing, card_of
from modhub.catalogue.reading.service import CatalogueReader, ListParams
from modhub.catalogue.reading.statements import AnySelect, json_items
from modhub.content.folding import like_pattern, search_words
from modhub.content.limits import DESCRIPTION
from modhub.content.markup import to_text
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.services import ProfileColumns
from modhub.web.payload import encode

# Statements that find published mods by the words of their descriptions (ADR 046).
#
# SQLite's index is numbered by the time of change, so the newest hits come straight from it.


WINDOW: Final = 200
"""The newest hits, among which are looked for those that the title does not tell."""
_JOINED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts that put no spaces between words, or join others to them; both indexes have pairs of them."""
_JOINED_RUN: Final = re.compile(f"[{_JOINED}]+")
_WORD: Final = re.compile(rf"[{_JOINED}]+|[^\W_{_JOINED}]+")
_ACCENT: Final = re.compile(r"[\u0300-\u036f]")
_FTS: Final = Table(
    "fts_core_description",
    MetaData(),
    Column("rowid", BigInteger),
    Column("mod_id", BigInteger),
    Column("updated_at", BigInteger),
    Column("words", TSVECTOR),
)
"""``rowid`` in SQLite, the others in PostgreSQL."""


def plain_word(word: str) -> str:
    """The word without capitals and accents, as excerpts compare it."""
    if word.isascii():
        return word.lower()
    if _JOINED_RUN.match(word):
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char))


def description_words(text: str) -> list[str]:
    """The words of a search in descriptions, as excerpts compare them."""
    return [plain_word(word) for word in _WORD.findall(unicodedata.normalize("NFC", text))]


def find_word(text: str, words: frozenset[str]) -> tuple[int, int]:
    """Where the first of these words is in the text, and where it ends; (0, 0) if there is none.

    Of letters without spaces between words, a part is a word.
    """
    for place in _WORD.finditer(text):
        if plain_word(place[0]) in words:
            return place.span()
        if _JOINED_RUN.match(place[0]):
            for word in words:
                if word in place[0]:
                    start = text.index(word, place.start())
                    return start, start + len(word)
    return 0, 0


def matching(text: str, dialect: str) -> str:
    """The value of ``match`` for the words of this search, all of which a description must have.

    Each database folds the words itself, as it did for its index (the core's baseline): PostgreSQL gets them without
    accents and punctuation.
    """
    if dialect == "sqlite":
        composed = unicodedata.normalize("NFC", text)
    else:
        composed = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text.lower())))
    pairs = _JOINED_RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", composed)
    if dialect == "sqlite":
        words = "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in _ACCENT.sub("", pairs))
        return " ".join(f'"{word}"' for word in words.split()) or '""'
    return "".join(" " if unicodedata.category(char).startswith("P") else char for char in pairs)


def _pairs(run: str) -> list[str]:
    return list(map("".join, pairwise(run))) or [run]


def _hits(dialect: str) -> AnySelect:
    """(time of change) of the mods with the words; (time of change, id) in PostgreSQL."""
    if dialect == "sqlite":
        has_words = literal_column("fts_core_description").op("MATCH")(bindparam("match"))
        return select(_FTS.c.rowid.label("moment")).where(has_words)
    query = func.plainto_tsquery(literal_column("'simple'"), bindparam("match"))
    return select(_FTS.c.updated_at.label("moment"), _FTS.c.mod_id.label("id")).where(_FTS.c.words.op("@@")(query))


def _newest(dialect: str, columns: tuple[Any, ...], size: Any, offset: Any = None) -> AnySelect:
    hits = _hits(dialect)
    page = hits.order_by(hits.selected_columns.moment.desc()).limit(size).offset(offset).subquery()
    is_hit = PublicMod.updated_at == page.c.moment if dialect == "sqlite" else PublicMod.id == page.c.id
    return select(*columns).join(page, is_hit).order_by(PublicMod.updated_at.desc(), PublicMod.id.desc())


def _untold(dialect: str) -> AnySelect:
    patterns = json_items("patterns").subquery()
    lacks_one = exists().where(~PublicText.text.like(patterns.c.value, escape="\\"))
    newest = _newest(dialect, (PublicMod.document,), WINDOW).join(PublicText, PublicText.mod_id == PublicMod.id)
    return newest.where(lacks_one.correlate(PublicText)).limit(bindparam("size"))


_UNTOLD: Final = PreparedQuery(_untold)
"""The documents of ``size`` of the newest mods with the words ``match``, whose title and games have not all words.

``patterns`` are those of the words, a JSON array.
"""
_DESCRIBED: Final = PreparedQuery(
    partial(_newest, columns=statements.CARD_COLUMNS, size=bindparam("size"), offset=bindparam("offset"))
)
"""The columns of the cards of one page of all mods with the words ``match``, last changed first."""
_DESCRIBED_TOTAL: Final = PreparedQuery(lambda dialect: select(func.count()).select_from(_hits(dialect).subquery()))
"""The number of mods with the words ``match``."""
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


class SearchGroups(NamedTuple):
    """The groups beneath a list. ``more_…``: there are more than the group has."""

    authors: list[FoundAuthor]
    more_authors: bool
    descriptions: list[FoundMod]
    more_descriptions: bool


class GroupReader:
    """Reads the groups from the public tables; one per application. ``accounts``: where the names of authors are."""

    def __init__(self, catalogue: CatalogueReader, accounts: ProfileColumns | None) -> None:
        self._reader = catalogue.reader
        self._has_names = accounts is not None
        if accounts is not None:
            self._authors = PreparedQuery(statements.found_authors_statement(accounts))
            self._authors_total = PreparedQuery(statements.found_authors_total_statement(accounts))

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
        total = self._reader.rows(_DESCRIBED_TOTAL, match=match)[0][0]
        offset = (params.page - 1) * size
        rows = self._reader.rows(_DESCRIBED, match=match, size=size, offset=offset) if offset < total else []
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
        rows = self._reader.rows(_UNTOLD, match=match, patterns=patterns, size=size)
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
