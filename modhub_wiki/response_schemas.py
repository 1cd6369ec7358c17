"""Response schemas of the wiki (C-WIKI-2)."""

from msgspec import Struct


class PageDocument(Struct, rename="camel", frozen=True):
    """A page, without its text."""

    path: str
    title: str
    url: str
    revision: int
    updated_at: str


class PagesDocument(Struct):
    """``GET /Modhub/api/wiki``"""

    count: int
    pages: list[PageDocument]


def page_url(path: str) -> str:
    """The address of the HTML page."""
    return f"/Modhub/Wiki/{path}"


class TocEntry(Struct):
    """A line of a page's table of contents."""

    level: int
    id: str
    text: str
