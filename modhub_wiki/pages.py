"""The wiki for people: pages, their history, the difference of two revisions, search (C-WIKI-8).

What belongs to a page stands in the query and not in the path: every path is one that a page may have.
"""

import re
from typing import Any, Final

from markupsafe import Markup, escape
from pyramid.config import Configurator
from pyramid.response import Response

from modhub import limits, text
from modhub.errors import not_found
from modhub.payload import query
from modhub.request import Request
from modhub.service_registry import find_service
from modhub.ui import sitemap
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.ui.xml_responses import Redirect
from modhub.views import OPEN, page
from modhub_wiki import feed
from modhub_wiki.diff import diff_revisions
from modhub_wiki.interfaces import IWiki, IWikiPage
from modhub_wiki.links import ROOT
from modhub_wiki.navigation_tree import INDEX, page_tree
from modhub_wiki.public_views import wiki_reader
from modhub_wiki.read_service import WikiPageView, WikiReader
from modhub_wiki.resources import WikiPageResource
from modhub_wiki.response_schemas import page_url

TEMPLATES: Final = "modhub_wiki:templates/"
_REVISION: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def _values(request: Request, **more: Any) -> dict[str, Any]:
    """What every page of the wiki shows beside its own."""
    pages, ui = tuple(wiki_reader(request).pages()), PageHelpers(request)
    drawn = ui.cached_fragment(TEMPLATES + "tree.jinja2", pages=pages, tree=page_tree) if pages else Markup("")
    # One tree for all pages: the one that is open is marked afterwards.
    here = f'<a href="{escape(ui.path.rstrip("/"))}"'
    marked = Markup(str(drawn).replace(here, f'{here} aria-current="page"', 1))  # noqa: S704 - the piece, escaped
    return {"tree": marked, "root": ROOT, "feed": feed.WIKI_FEED_PATH, "q": "", **more}


def _address(path: str) -> str:
    return ROOT if path == INDEX else page_url(path)


def _shown(request: Request, found: WikiPageView) -> dict[str, Any]:
    # It was cleaned when it was published, and begins with its one h1.
    heading, end, rest = found.html.partition("</h1>")
    return _values(
        request,
        shown=found,
        heading=Markup(heading + end),  # noqa: S704
        html=Markup(rest),  # noqa: S704
        address=_address(found.path),
        own=page_url(found.path),
        is_old=found.number != found.newest,
    )


@page(context=IWiki, request_method="GET", permission=OPEN, renderer=TEMPLATES + "page.jinja2")
def show_wiki(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki``: the index when there is one, and the tree."""
    found = wiki_reader(request).page(INDEX)
    return _values(request, shown=None) if found is None else _shown(request, found)


@page(context=IWiki, request_method="GET", request_param="q", permission=OPEN, renderer=TEMPLATES + "search.jinja2")
def search(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki?q=...``"""
    asked = text.line(query(request, "q") or "", limits.QUERY)
    return _values(request, hits=wiki_reader(request).search(asked)) | {"q": asked}


@page(context=IWikiPage, request_method="GET", permission=OPEN, renderer=TEMPLATES + "page.jinja2")
def show_page(context: WikiPageResource, request: Request) -> dict[str, Any] | Response:
    """``GET /Modhub/Wiki/{path}``"""
    found = wiki_reader(request).page(context.path)
    if found is not None:
        return _shown(request, found)
    instead = _instead(context, request)
    if instead is None:
        raise not_found()
    return Redirect(instead, 302)


def _instead(context: WikiPageResource, request: Request) -> str | None:
    """Where a link leads that was written for files: ``setup.md`` is the page ``setup``, a folder its index."""
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
    number = _number(request, "revision")
    found = wiki_reader(request).page(context.path, number) if number else None
    if found is None:
        raise not_found()
    return _shown(request, found)


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
    return _values(request, changes=changes, newest=changes[0], own=page_url(changes[0].path))


@page(
    context=IWikiPage,
    request_method="GET",
    request_param=("old", "new"),
    permission=OPEN,
    renderer=TEMPLATES + "difference.jinja2",
)
def show_difference(context: WikiPageResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/Wiki/{path}?old=N&new=M``; the older of the two is the old one, however they are given."""
    one, other = _number(request, "old"), _number(request, "new")
    if one is None or other is None:
        raise not_found()
    found = wiki_reader(request).two(context.path, one, other)
    if len(found) != len({one, other}):
        raise not_found()
    (old, before), (new, after) = found[0], found[-1]
    return _values(request, old=old, new=new, difference=diff_revisions(before, after), own=page_url(new.path))


def _number(request: Request, name: str) -> int | None:
    sent = query(request, name) or ""
    return int(sent) if _REVISION.fullmatch(sent) else None


def wiki_in_sitemap(registry: Any, part: int) -> sitemap.SitemapEntries:
    """The wiki and the pages that are there, under the addresses that they call their own."""
    places = {ROOT: None} | {_address(one.path): one.updated_at for one in find_service(registry, WikiReader).pages()}
    return list(places.items())[part * sitemap.PART : (part + 1) * sitemap.PART]


def parts_in_sitemap(registry: Any) -> int:
    """The wiki's own address is one more, unless a page has it."""
    return sitemap.parts_of(len(find_service(registry, WikiReader).pages()) + 1)


def wiki_navigation(_context: Any, request: Request) -> Markup:
    """The entry of the site's navigation."""
    return nav_link(request, ROOT, "Wiki")


def includeme(config: Configurator) -> None:
    """The pages, their style sheet, their words in other languages, and their entry."""
    config.add_static("modhub_wiki:static")
    config.add_translation_dirs("modhub_wiki:locale")
    config.add_panel("navigation", "wiki", wiki_navigation, order=50)
    config.add_sitemap("wiki", wiki_in_sitemap, parts_in_sitemap)
    config.scan(__name__)
