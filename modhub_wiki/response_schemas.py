"""Response schemas of the wiki (C-WIKI-2)."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about


class PageDocument(Struct, rename="camel", frozen=True):
    """A page, without its text."""

    path: Annotated[str, about("The path", "mods/manifest")]
    title: Annotated[str, about("The title", "The manifest")]
    url: Annotated[str, about("The page for people", "/Modhub/Wiki/mods/manifest")]
    revision: Annotated[int, about("Counted from 1; every publishing adds one", 3)]
    updated_at: Annotated[str, about("Time of the newest revision", "2026-11-21T08:15:30.123456Z")]


class PagesDocument(Struct):
    """``GET /Modhub/api/wiki``"""

    count: Annotated[int, about("How many there are", 1)]
    pages: Annotated[list[PageDocument], about("All pages, by path")]


def page_url(path: str) -> str:
    """The address of the HTML page."""
    return f"/Modhub/Wiki/{path}"


class TocEntry(Struct):
    """A line of a page's table of contents."""

    level: int
    id: str
    text: str
