"""The wiki's HTML pages: pages, history, revisions, search (C-WIKI-8).

History and revisions are in the query, not in the path: any path may be a page.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.errors import found, not_found
from modhub.base.service_registry import find_service
from modhub.content import limits, text
from modhub.content.markup import summarize
from modhub.db import Databases, iso
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.resources import ISite
from modhub.plugins.services import FeedHead
from modhub.ui import sitemap
from modhub.ui.feeds import FeedAuthor, FeedItem, feed_response
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_wiki.links import ROOT
from modhub_wiki.read_service import Change, WikiPageView, WikiReader
from modhub_wiki.resources import IWiki, IWikiPage, WikiPageResource
from modhub_wiki.response_schemas import PageDocument, page_url
from modhub_wiki.views import wiki_reader

INDEX = "index"
"""The page at the wiki's root address."""


@dataclass(slots=True)
class Node:
    """A segment of a path: a page, a folder of pages, or both."""

    name: str
    page: PageDocument | None = None
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The page's title, else the segment."""
        return self.page.title if self.page else self.name

    @property
    def url(self) -> str | None:
        """The address of the page; None for a mere folder. The index is at the wiki's root."""
        if self.page is None:
            return None
        return _address(self.page.path)

    @property
    def nodes(self) -> list["Node"]:
        """The child nodes by segment, ignoring case; the index first."""
        return sorted(self.children.values(), key=lambda node: (node.name != INDEX, node.name.lower(), node.name))


def page_tree(pages: Iterable[PageDocument]) -> list[Node]:
    """The nodes of the first level."""
    root = Node("")
    for document in pages:
        node = root
        for segment in document.path.split("/"):
            node = node.children.setdefault(segment, Node(segment))
        node.page = document
    return root.nodes


NAME: Final = "wiki.atom"
JSON_NAME: Final = "wiki.json"
WIKI_FEED_PATH: Final = f"/Modhub/{NAME}"
WIKI_JSON_FEED_PATH: Final = f"/Modhub/{JSON_NAME}"


@page(context=ISite, name=NAME, request_method="GET", permission=OPEN)
@page(context=ISite, name=JSON_NAME, request_method="GET", permission=OPEN)
def wiki_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.atom``, and ``wiki.json``: the newest revisions as Atom and as JSON Feed."""
    head = FeedHead("Changes of the wiki", WIKI_FEED_PATH, ROOT, WIKI_JSON_FEED_PATH)
    base = PageHelpers(request).absolute("")
    return feed_response(request, head, [_feed_item(base, change) for change in wiki_reader(request).recent()])


def _feed_item(base: str, change: Change) -> FeedItem:
    address, at = base + change.url, iso(change.created_at)
    return FeedItem(
        id=address,
        url=address,
        title=change.title,
        date_published=at,
        date_modified=at,
        content_text=f"{change.path}, revision {change.number}",
        authors=[FeedAuthor(f"key {change.author}")],
    )


TEMPLATES: Final = "modhub_wiki:templates/"
_REVISION: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


def _page_context(request: Request, **values: Any) -> dict[str, Any]:
    """``values`` with what every page of the wiki shows: the navigation tree and the search form."""
    pages, ui = tuple(wiki_reader(request).pages()), PageHelpers(request)
    # A search has the address of the index.
    shown = {"nodes": page_tree(pages), "is_page": "hits" not in values}
    tree = ui.render(TEMPLATES + "tree.jinja2", **shown) if pages else Markup("")
    feeds = {"feed": WIKI_FEED_PATH, "json_feed": WIKI_JSON_FEED_PATH}
    return {"tree": tree, "root": ROOT, **feeds, "q": "", **values}


def _address(path: str) -> str:
    return ROOT if path == INDEX else page_url(path)


def _revision_context(request: Request, revision: WikiPageView) -> dict[str, Any]:
    # Cleaned when it was published; it begins with its only h1.
    heading, end, rest = revision.html.partition("</h1>")
    first_paragraph = rest.partition("<p>")[2].partition("</p>")[0]
    return _page_context(
        request,
        revision=revision,
        heading=Markup(heading + end),  # noqa: S704
        html=Markup(rest),  # noqa: S704
        summary=summarize(first_paragraph),
        address=_address(revision.path),
        page_url=page_url(revision.path),
        is_old=revision.number != revision.newest,
    )


@page(context=ISite, name="wiki", request_method="GET", permission=OPEN)
def redirect_lower_case(_context: Any, _request: Request) -> Response:
    """``GET /Modhub/wiki``, as people type it: redirects to the wiki."""
    return Redirect(ROOT, 301)


@page(context=IWiki, request_method="GET", permission=OPEN, renderer=TEMPLATES + "page.jinja2")
def show_wiki(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki``: the index page, if there is one, and the tree."""
    index = wiki_reader(request).page(INDEX)
    return _page_context(request, revision=None, summary="") if index is None else _revision_context(request, index)


@page(context=IWiki, request_method="GET", request_param="q", permission=OPEN, renderer=TEMPLATES + "search.jinja2")
def search(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki?q=...``"""
    terms = text.line(query(request, "q") or "", limits.QUERY)
    hits, total = wiki_reader(request).search(terms)
    return _page_context(request, hits=hits, total=total) | {"q": terms}


@page(context=IWikiPage, request_method="GET", permission=OPEN, renderer=TEMPLATES + "page.jinja2")
def show_page(context: WikiPageResource, request: Request) -> dict[str, Any] | Response:
    """``GET /Modhub/Wiki/{path}``"""
    revision = wiki_reader(request).page(context.path)
    if revision is not None:
        return _revision_context(request, revision)
    address = found(_redirect_target(context, request))
    return Redirect(address, 302)


def _redirect_target(context: WikiPageResource, request: Request) -> str | None:
    """The page meant by a link to a file: ``setup.md`` is the page ``setup``, a folder is its index."""
    if context.path is None:
        return None
    for path in (context.path.removesuffix(".md"), f"{context.path}/{INDEX}"):
        if path != context.path and wiki_reader(request).page(path) is not None:
            return _address(path)
    return None


@page(
    context=IWikiPage,
    request_method="GET",
    request_param="revision",
    permission=OPEN,
    renderer=TEMPLATES + "page.jinja2",
)
def show_revision(context: WikiPageResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki/{path}?revision=N``"""
    number = query(request, "revision") or ""
    revision = found(wiki_reader(request).page(context.path, int(number)) if _REVISION.fullmatch(number) else None)
    return _revision_context(request, revision)


@page(
    context=IWikiPage,
    request_method="GET",
    request_param="history",
    permission=OPEN,
    renderer=TEMPLATES + "history.jinja2",
)
def show_history(context: WikiPageResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki/{path}?history``"""
    changes = wiki_reader(request).history(context.path)
    if not changes:
        raise not_found()
    return _page_context(request, changes=changes, newest=changes[0], page_url=page_url(changes[0].path))


def wiki_in_sitemap(registry: Any, part: int) -> SitemapEntries:
    """The wiki's root and its pages, under their canonical addresses."""
    pages = WikiReader(find_service(registry, Databases).raw_queries).pages()
    entries = {ROOT: None} | {_address(document.path): document.updated_at for document in pages}
    return list(entries.items())[part * sitemap.PART : (part + 1) * sitemap.PART]


def parts_in_sitemap(registry: Any) -> int:
    """How many sitemaps there are. The wiki's root is one more entry, unless the index page has it."""
    return sitemap.parts_of(len(WikiReader(find_service(registry, Databases).raw_queries).pages()) + 1)


def wiki_navigation(_context: Any, request: Request) -> Markup:
    """The entry in the site's navigation."""
    return nav_link(request, ROOT, "Wiki")


def includeme(config: Configurator) -> None:
    """Register the pages, the feeds, the sitemap and the navigation entry."""
    for path in (WIKI_FEED_PATH, WIKI_JSON_FEED_PATH):
        config.add_cross_origin(re.escape(path))
    config.add_panel("navigation", "wiki", wiki_navigation, order=50)
    config.add_sitemap("wiki", wiki_in_sitemap, parts_in_sitemap)
    config.scan(__name__)
