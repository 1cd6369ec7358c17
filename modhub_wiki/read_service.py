"""Anonymous reads of the wiki, by raw queries (:mod:`modhub.raw_queries`). Deleted pages are nowhere in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec.json import decode
from sqlalchemy import Select, bindparam, select
from sqlalchemy.sql.expression import ColumnElement

from modhub.db import from_micros, iso
from modhub.folding import fold_search, like_pattern, search_words
from modhub.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub_wiki.headings import TocEntry
from modhub_wiki.models import Page, PageSearchText, Revision
from modhub_wiki.response_schemas import PageDocument, page_url

WikiSelect = Select[*tuple[Any, ...]]
FEED_ENTRIES_SHOWN: Final = 50
"""Changes in the feed."""

SHOWN: Final = 25
"""Hits of a search that are shown."""

_AROUND: Final = 160
_THERE: Final = Page.deleted_at.is_(None)


@dataclass(frozen=True, slots=True)
class WikiPageView:
    """One revision of a page, as it is shown."""

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
        """Where this revision is read."""
        return f"{page_url(self.path)}?revision={self.number}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page in which all words were found; ``line`` is where the first of them stands."""

    path: str
    title: str
    line: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The answer of a search: the first hits, and how many there are in all."""

    shown: list[Hit]
    total: int


class WikiReader:
    """The reading side of the wiki; one for an application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader
        there = select(Page.path, Page.title, Page.revision, Page.updated_at).where(_THERE)
        self._pages = reader.prepare(there)
        newest = select(Revision.text).join(Page, Page.id == Revision.page_id).where(_THERE)
        self._source = reader.prepare(newest.where(_named(), Revision.number == Page.revision))
        self._newest = reader.prepare(_shown().where(Revision.number == Page.revision))
        self._numbered = reader.prepare(_shown().where(Revision.number == bindparam("number")))
        two = (Revision.number == bindparam("old")) | (Revision.number == bindparam("new"))
        self._two = reader.prepare(_change(Revision.text).where(_named(), two).order_by(Revision.number))
        self._history = reader.prepare(_change().where(_named()).order_by(Revision.number.desc()))
        self._recent = reader.prepare(
            _change().order_by(Revision.created_at.desc(), Revision.id.desc()).limit(FEED_ENTRIES_SHOWN)
        )
        lines = select(Page.path, PageSearchText.plain, PageSearchText.folded).join(
            Page, Page.id == PageSearchText.page_id
        )
        self._lines = reader.prepare(lines.where(Page.path.in_([bindparam(f"path{at}") for at in range(SHOWN)])))
        self._searches: dict[int, PreparedQuery] = {}
        self._known: tuple[list[Row], list[PageDocument]] = ([], [])

    def pages(self) -> list[PageDocument]:
        """All pages, by path; one list, not to be changed, for as long as the rows are the same."""
        rows = self.reader.rows(self._pages)
        known = self._known
        if rows != known[0]:
            ordered = sorted(rows, key=lambda row: row[0])
            pages = [PageDocument(path, title, page_url(path), number, _iso(at)) for path, title, number, at in ordered]
            known = self._known = (rows, pages)
        return known[1]

    def source(self, path: str | None) -> str | None:
        """The Markdown of a page; None when it is not there."""
        rows = self.reader.rows(self._source, path=path) if path else []
        return str(rows[0][0]) if rows else None

    def page(self, path: str | None, number: int | None = None) -> WikiPageView | None:
        """A page at this revision, or at its newest; None when it is not there."""
        if not path:
            return None
        if number is None:
            rows = self.reader.rows(self._newest, path=path)
        else:
            rows = self.reader.rows(self._numbered, path=path, number=number)
        if not rows:
            return None
        named, title, shown, newest, at, author, html, contents = rows[0]
        entries = decode(contents, type=list[TocEntry])
        return WikiPageView(named, title, shown, newest, from_micros(at), author, html, entries)

    def history(self, path: str | None) -> list[Change]:
        """The revisions of a page, newest first; none when it is not there."""
        return [_changed(row) for row in self.reader.rows(self._history, path=path)] if path else []

    def two(self, path: str | None, old: int, new: int) -> list[tuple[Change, str]]:
        """Two revisions of a page with their Markdown, the older first; fewer when they are not there."""
        rows = self.reader.rows(self._two, path=path, old=old, new=new) if path else []
        return [(_changed(row), row[-1]) for row in rows]

    def recent(self) -> list[Change]:
        """The newest changes of pages that are there."""
        return [_changed(row) for row in self.reader.rows(self._recent)]

    def search(self, query: str) -> Hits:
        """The pages in which every word of ``query`` occurs (as C-LIST-5); those that bear it as title first."""
        words = search_words(query)
        if not words:
            return Hits([], 0)
        values = {f"word{at}": like_pattern(word) for at, word in enumerate(words)}
        rows = self.reader.rows(self._search(len(words)), **values)
        ranked = sorted(rows, key=lambda row: (not _all_in(words, fold_search(row[1])), row[0]))
        shown = ranked[:SHOWN]
        lines = self._found_lines([row[0] for row in shown], words[0])
        return Hits([Hit(row[0], row[1], lines.get(row[0], "")) for row in shown], len(ranked))

    def _found_lines(self, paths: list[str], word: str) -> dict[str, str]:
        """For each of these pages, the line in which ``word`` stands first; all in one statement."""
        values = {f"path{at}": paths[at] if at < len(paths) else "" for at in range(SHOWN)}
        rows = self.reader.rows(self._lines, **values) if paths else []
        return {path: _line(plain, folded, word) for path, plain, folded in rows}

    def _search(self, words: int) -> PreparedQuery:
        statement = self._searches.get(words)
        if statement is None:
            found = select(Page.path, Page.title).join(PageSearchText, PageSearchText.page_id == Page.id).where(_THERE)
            for at in range(words):
                found = found.where(PageSearchText.folded.like(bindparam(f"word{at}"), escape="\\"))
            statement = self._searches[words] = self.reader.prepare(found)
        return statement


def _line(plain: str, folded: str, word: str) -> str:
    """The line of ``plain`` in which ``word`` stands: folding keeps the lines, though not the characters."""
    # The first two lines are title and path, which are shown anyway.
    start = _after_lines(folded, 2)
    at = folded.find(word, start)
    if at < 0:
        at = start
    line = plain.split("\n")[folded.count("\n", 0, at)]
    return _cut(line, at - folded.rfind("\n", 0, at) - 1)


def _named() -> ColumnElement[bool]:
    return Page.path == bindparam("path")


def _shown() -> WikiSelect:
    columns = (Page.path, Revision.title, Revision.number, Page.revision, Revision.created_at, Revision.author)
    found = select(*columns, Revision.html, Revision.contents).join(Page, Page.id == Revision.page_id)
    return found.where(_THERE, _named())


def _change(*more: Any) -> WikiSelect:
    columns: tuple[Any, ...] = (Page.path, Revision.title, Revision.number, Revision.created_at, Revision.author)
    return select(*columns, *more).join(Page, Page.id == Revision.page_id).where(_THERE)


def _changed(row: Row) -> Change:
    return Change(row[0], row[1], row[2], from_micros(row[3]), row[4])


def _iso(micros: int) -> str:
    return iso(from_micros(micros))


def _all_in(words: Sequence[str], folded: str) -> bool:
    return all(word in folded for word in words)


def _after_lines(text: str, count: int) -> int:
    at = 0
    for _ in range(count):
        at = text.find("\n", at) + 1
    return at


def _cut(line: str, around: int) -> str:
    """The part of a long line about this place, the ends marked."""
    start = max(0, around - _AROUND // 2)
    piece = line[start : start + _AROUND].strip()
    return ("…" if start else "") + piece + ("…" if start + _AROUND < len(line) else "")
