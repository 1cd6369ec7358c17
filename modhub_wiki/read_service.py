"""Anonymous reads of the wiki, by raw queries (:mod:`modhub.db.raw_queries`). Deleted pages never appear."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from msgspec.json import decode
from sqlalchemy import bindparam, select

from modhub.content.folding import fold_search, like_patterns, search_words
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub_wiki.models import Page, PageSearchText, Revision
from modhub_wiki.response_schemas import PageDocument, TocEntry, page_url

FEED_ENTRIES_SHOWN: Final = 50
"""Changes in the feed, at most."""

MAX_HITS: Final = 25
"""Hits of a search, at most."""

_EXCERPT: Final = 160
_NOT_DELETED: Final = Page.deleted_at.is_(None)
_BY_PATH: Final = Page.path == bindparam("path")
_CHANGES: Final = (
    select(Page.path, Revision.title, Revision.number, Revision.created_at, Revision.author)
    .join(Page, Page.id == Revision.page_id)
    .where(_NOT_DELETED)
)
_REVISIONS: Final = (
    select(Page.path, Revision.title, Revision.number, Page.revision, Revision.created_at, Revision.author)
    .add_columns(Revision.html, Revision.contents)
    .join(Page, Page.id == Revision.page_id)
    .where(_NOT_DELETED, _BY_PATH)
)
_PAGES: Final = PreparedQuery(select(Page.path, Page.title, Page.revision, Page.updated_at).where(_NOT_DELETED))
_SOURCE: Final = PreparedQuery(
    select(Revision.text)
    .join(Page, Page.id == Revision.page_id)
    .where(_NOT_DELETED, _BY_PATH, Revision.number == Page.revision)
)
_NEWEST: Final = PreparedQuery(_REVISIONS.where(Revision.number == Page.revision))
_NUMBERED: Final = PreparedQuery(_REVISIONS.where(Revision.number == bindparam("number")))
_HISTORY: Final = PreparedQuery(_CHANGES.where(_BY_PATH).order_by(Revision.number.desc()))
_RECENT: Final = PreparedQuery(
    _CHANGES.order_by(Revision.created_at.desc(), Revision.id.desc()).limit(FEED_ENTRIES_SHOWN)
)
_LINES: Final = PreparedQuery(
    select(Page.path, PageSearchText.plain, PageSearchText.folded)
    .join(Page, Page.id == PageSearchText.page_id)
    .where(Page.path.in_([bindparam(f"path{at}") for at in range(MAX_HITS)]))
)


@dataclass(frozen=True, slots=True)
class WikiPageView:
    """One revision of a page, for display."""

    path: str
    title: str
    number: int
    newest: int
    updated_at: datetime
    author: str
    html: str
    contents: list[TocEntry]


@dataclass(frozen=True, slots=True)
class Change:
    """A revision, without its text."""

    path: str
    title: str
    number: int
    created_at: datetime
    author: str

    @property
    def url(self) -> str:
        """The address of this revision."""
        return f"{page_url(self.path)}?revision={self.number}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that contains all words; ``line`` is the first line with the first word."""

    path: str
    title: str
    line: str


class WikiReader:
    """The read service of the wiki; made where it is used."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader

    def pages(self) -> list[PageDocument]:
        """All pages, by path."""
        rows = sorted(self.reader.rows(_PAGES), key=lambda row: row[0])
        return [
            PageDocument(path, title, page_url(path), number, iso(from_micros(at))) for path, title, number, at in rows
        ]

    def source(self, path: str | None) -> str | None:
        """The Markdown of a page; None if there is no such page."""
        rows = self.reader.rows(_SOURCE, path=path) if path else []
        return str(rows[0][0]) if rows else None

    def page(self, path: str | None, number: int | None = None) -> WikiPageView | None:
        """A page at this revision, or at its newest; None if there is none."""
        if not path:
            return None
        if number is None:
            rows = self.reader.rows(_NEWEST, path=path)
        else:
            rows = self.reader.rows(_NUMBERED, path=path, number=number)
        if not rows:
            return None
        stored_path, title, revision, newest, at, author, html, contents = rows[0]
        entries = decode(contents, type=list[TocEntry])
        return WikiPageView(stored_path, title, revision, newest, from_micros(at), author, html, entries)

    def history(self, path: str | None) -> list[Change]:
        """The revisions of a page, newest first; empty if there is no such page."""
        return [_change_of(row) for row in self.reader.rows(_HISTORY, path=path)] if path else []

    def recent(self) -> list[Change]:
        """The newest changes."""
        return [_change_of(row) for row in self.reader.rows(_RECENT)]

    def search(self, query: str) -> tuple[list[Hit], int]:
        """The first pages that contain every word of ``query`` (as C-LIST-5), and their number.

        Those with all words in the title come first.
        """
        words = search_words(query)
        if not words:
            return [], 0
        values = {f"word{at}": pattern for at, pattern in enumerate(like_patterns(words))}
        rows = self.reader.rows(_search_query(len(values)), **values)
        ranked = sorted(rows, key=lambda row: (not _all_in(words, fold_search(row[1])), row[0]))
        first = ranked[:MAX_HITS]
        lines = self._matching_lines([row[0] for row in first], words[0])
        return [Hit(row[0], row[1], lines.get(row[0], "")) for row in first], len(ranked)

    def _matching_lines(self, paths: list[str], word: str) -> dict[str, str]:
        """The first line with ``word`` in each of these pages, in one statement."""
        values = {f"path{at}": paths[at] if at < len(paths) else "" for at in range(MAX_HITS)}
        rows = self.reader.rows(_LINES, **values) if paths else []
        return {path: _matching_line(plain, folded, word) for path, plain, folded in rows}


@cache
def _search_query(word_count: int) -> PreparedQuery:
    pages = select(Page.path, Page.title).join(PageSearchText, PageSearchText.page_id == Page.id)
    matching = pages.where(_NOT_DELETED)
    for at in range(word_count):
        matching = matching.where(PageSearchText.folded.like(bindparam(f"word{at}"), escape="\\"))
    return PreparedQuery(matching)


def _matching_line(plain: str, folded: str, word: str) -> str:
    """The line of ``plain`` that contains ``word``. Folding keeps line numbers, but not character positions."""
    # Skip the first two lines: title and path are shown anyway.
    start = _after_lines(folded, 2)
    at = folded.find(word, start)
    if at < 0:
        at = start
    line = plain.split("\n")[folded.count("\n", 0, at)]
    return _excerpt(line, at - folded.rfind("\n", 0, at) - 1)


def _change_of(row: Row) -> Change:
    return Change(row[0], row[1], row[2], from_micros(row[3]), row[4])


def _all_in(words: Sequence[str], folded: str) -> bool:
    return all(word in folded for word in words)


def _after_lines(text: str, count: int) -> int:
    at = 0
    for _ in range(count):
        at = text.find("\n", at) + 1
    return at


def _excerpt(line: str, around: int) -> str:
    """The part of a long line around a position, with ellipses where it was cut."""
    start = max(0, around - _EXCERPT // 2)
    excerpt = line[start : start + _EXCERPT].strip()
    return ("…" if start else "") + excerpt + ("…" if start + _EXCERPT < len(line) else "")
