"""What readers elsewhere follow: Atom feeds (RFC 4287), the search description, the mods in the sitemap."""

import re
from collections.abc import Iterable
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.catalogue.pages.presenters.card import render_feed_entry
from modhub.catalogue.pages.queries.authors import name_authors
from modhub.catalogue.pages.queries.page_queries import NOTES_PER_PAGE, PageReader
from modhub.catalogue.pages.queries.updates import recent_updates
from modhub.catalogue.pages.views.browse import address_of, page_reader, query_of
from modhub.catalogue.public_views import list_params
from modhub.catalogue.resources import ModResource
from modhub.errors import not_found
from modhub.interfaces import IMod, IRoot, ISite
from modhub.request import Request
from modhub.service_registry import find_service
from modhub.ui import sitemap
from modhub.ui.fragment_cache import FragmentCache
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import xml_response
from modhub.views import OPEN, page

ENTRIES: Final = 20
"""Changelog entries in a mod's feed."""
MODS_FEED_TEMPLATE: Final = "modhub.catalogue:templates/feed.jinja2"
CHANGE: Final = "modhub.catalogue:templates/change.jinja2"
SEARCH: Final = "modhub.catalogue:templates/opensearch.jinja2"
_EPOCH: Final = "1970-01-01T00:00:00Z"
# Stored text holds no control characters; these two are the rest of what XML 1.0 has no place for.
_NO_XML = re.compile("[\ufffe\uffff]")


def _xml(request: Request, document: str, content_type: str) -> Response:
    return xml_response(request, _NO_XML.sub("\ufffd", document.lstrip()), content_type)


def _feed(tools: PageHelpers, entries: list[Markup], *, changed: Iterable[str], **values: str) -> Response:
    """``values``: the feed's ``title``, its own ``path``, and ``page``, the path of the page that says the same."""
    newest = max(changed, default=_EPOCH)
    draw, base = find_service(tools.registry, FragmentCache).render, tools.absolute("")
    feed = draw(MODS_FEED_TEMPLATE, tools.messages, base=base, updated=newest, entries=entries, **values)
    return _xml(tools.request, feed, "application/atom+xml")


@page(context=ISite, name="feed", request_method="GET", permission=OPEN)
def list_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed``: the list of exactly this filter and order, each mod with what changed last."""
    wanted = list_params(request)
    found = recent_updates(page_reader(request), wanted)
    name_authors(request, [card for card, _ in found])
    tools = PageHelpers(request)
    parts = ["modhub", *(part for part in (wanted.game, wanted.q) if part)]
    return _feed(
        tools,
        [render_feed_entry(tools, card, update) for card, update in found],
        changed=(update.updated for _, update in found),
        title=" – ".join(parts),
        path="/Modhub/feed" + query_of(wanted),
        page=address_of(wanted),
    )


@page(context=IMod, name="feed", request_method="GET", permission=OPEN)
def mod_feed(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/feed``: the newest entries of a mod's changelog."""
    found = page_reader(request).changes(context.id, ENTRIES)
    if found is None:
        raise not_found()
    card, notes = found
    name_authors(request, [card])
    tools, mod = PageHelpers(request), card.mod
    base = tools.absolute("")
    changed = [mod.updated_at, *(note.edited_at or note.created_at for note in notes)]
    about = {"base": base, "url": mod.url, "title": mod.title, "author": card.author}
    entries = [
        tools.cached_fragment(CHANGE, note=note, page=at // NOTES_PER_PAGE + 1, **about)
        for at, note in enumerate(notes)
    ]
    return _feed(tools, entries, changed=changed, title=mod.title, path=f"{mod.url}/feed", page=mod.url)


@page(context=IRoot, name="opensearch.xml", request_method="GET", permission=OPEN)
def search_description(_context: Any, request: Request) -> Response:
    """``GET /opensearch.xml``: how a browser searches here by itself (OpenSearch 1.1)."""
    tools = PageHelpers(request)
    drawn = tools.cached_fragment(SEARCH, base=tools.absolute(""))
    response = _xml(request, drawn, "application/opensearchdescription+xml")
    response.headers["Vary"] = "Accept-Language"
    return response


def mods_in_sitemap(registry: Any, part: int) -> sitemap.SitemapEntries:
    """The published mods of one part: of as many ids as a part has room for."""
    first = part * sitemap.PART
    listed = find_service(registry, PageReader).sitemap(first, first + sitemap.PART)
    return [(f"/Modhub/{mod_id}", changed) for mod_id, changed in listed]


def parts_of_mods(registry: Any) -> int:
    """By the highest id of a published mod; what is behind it tells nothing."""
    return sitemap.parts_of(find_service(registry, PageReader).highest())


def includeme(config: Configurator) -> None:
    """What the catalogue has in the sitemap."""
    config.add_sitemap("pages", lambda _registry, part: [("/Modhub", None)] if part == 0 else [])
    config.add_sitemap("mods", mods_in_sitemap, parts_of_mods)
