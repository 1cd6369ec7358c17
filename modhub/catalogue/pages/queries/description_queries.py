"""Statements that find published mods by the words of their descriptions (migration core_0019, ADR 050).

SQLite's index is numbered by the time of change, so the newest hits come straight from it.
"""

import re
import unicodedata
from typing import Any, Final

from sqlalchemy import BigInteger, Column, MetaData, Table, bindparam, exists, func, literal_column, select
from sqlalchemy.dialects.postgresql import TSVECTOR

from modhub.catalogue.lookup_queries import ids_in_order, json_items
from modhub.catalogue.models import PublicMod, PublicText
from modhub.catalogue.queries import AnySelect

WINDOW: Final = 200
"""The newest hits, among which are looked for those that the title does not tell."""
_WORD: Final = re.compile(r"[^\W_]+")
_SQLITE_WORD: Final = re.compile(r"[^\W_\u19b0-\u19c9\u1cf2\u1cf3]+")
"""Without letters that SQLite's tokenizer takes for marks: two words in one pair of quotes are an error there."""
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
    return "".join(char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char))


def description_words(text: str) -> list[str]:
    """The words of a search in descriptions, as excerpts compare them."""
    return [plain_word(word) for word in _WORD.findall(text)]


def matching(text: str, dialect: str) -> str:
    """The value of ``match`` for the words of this search, all of which a description must have.

    Each database folds the words itself, as it did for its index (migration core_0019): SQLite's tokenizer leaves
    letters of many scripts as they are; PostgreSQL gets them decomposed, without accents and punctuation.
    """
    if dialect == "sqlite":
        words = _SQLITE_WORD.findall(unicodedata.normalize("NFC", text))
        return " ".join(f'"{word}"' for word in words) or '""'
    decomposed = _ACCENT.sub("", unicodedata.normalize("NFKD", text.lower()))
    return "".join(" " if unicodedata.category(char).startswith("P") else char for char in decomposed)


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


def untold_statement(dialect: str) -> AnySelect:
    """The documents of ``size`` of the newest mods with the words ``match``, whose title and games have not all words.

    ``patterns`` are those of the words, a JSON array.
    """
    patterns = json_items("patterns", dialect).subquery()
    lacks_one = exists().where(~PublicText.text.like(patterns.c.value, escape="\\"))
    newest = _newest(dialect, (PublicMod.document,), WINDOW).join(PublicText, PublicText.mod_id == PublicMod.id)
    return newest.where(lacks_one.correlate(PublicText)).limit(bindparam("size"))


def described_page_statement(dialect: str, columns: tuple[Any, ...]) -> AnySelect:
    """The ``columns`` of one page of all mods with the words ``match``, last changed first."""
    return _newest(dialect, columns, bindparam("size"), bindparam("offset"))


def described_total_statement(dialect: str) -> AnySelect:
    """The number of mods with the words ``match``."""
    return select(func.count()).select_from(_hits(dialect).subquery())


def listed_documents_statement(dialect: str) -> AnySelect:
    """The documents of the published mods ``ids``, a JSON array, in its order."""
    listed = ids_in_order(dialect)
    joined = select(PublicMod.document).join(listed, PublicMod.id == listed.c.id)
    return joined.order_by(listed.c.place)
