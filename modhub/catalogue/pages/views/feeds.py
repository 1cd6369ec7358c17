"""Atom feeds (RFC 4287), the OpenSearch description, and the mods in the sitemap."""

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
CHANGE_TEMPLATE: Final = "modhub.catalogue:templates/change.jinja2"
SEARCH_TEMPLATE: Final = "modhub.catalogue:templates/opensearch.jinja2"
_EPOCH: Final = "1970-01-01T00:00:00Z"
# Stored text has no control characters; these two are the other characters that XML 1.0 does not allow.
_NOT_XML = re.compile("[\ufffe\uffff]")


def _xml(request: Request, document: str, content_type: str) -> Response:
    return xml_response(request, _NOT_XML.sub("\ufffd", document.lstrip()), content_type)


def _feed(tools: PageHelpers, entries: list[Markup], *, changed: Iterable[str], **values: str) -> Response:
    """``values``: the feed's ``title``, its ``path``, and ``page``, the path of the HTML page with the same content."""
    newest = max(changed, default=_EPOCH)
    render, base = find_service(tools.registry, FragmentCache).render, tools.absolute("")
    feed = render(MODS_FEED_TEMPLATE, tools.messages, base=base, updated=newest, entries=entries, **values)
    return _xml(tools.request, feed, "application/atom+xml")


@page(context=ISite, name="feed", request_method="GET", permission=OPEN)
def list_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed``: the list with the same filter and order, each mod with its latest changes."""
    params = list_params(request)
    updates = recent_updates(page_reader(request), params)
    name_authors(request, [card for card, _ in updates])
    tools = PageHelpers(request)
    title = " – ".join(["modhub", *filter(None, (params.game, params.q))])
    return _feed(
        tools,
        [render_feed_entry(tools, card, update) for card, update in updates],
        changed=(update.updated for _, update in updates),
        title=title,
        path="/Modhub/feed" + query_of(params),
        page=address_of(params),
    )


@page(context=IMod, name="feed", request_method="GET", permission=OPEN)
def mod_feed(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/feed``: the newest entries of a mod's changelog."""
    changes = page_reader(request).changes(context.id, ENTRIES)
    if changes is None:
        raise not_found()
    card, notes = changes
    name_authors(request, [card])
    tools, mod = PageHelpers(request), card.mod
    base = tools.absolute("")
    changed = [mod.updated_at, *(note.edited_at or note.created_at for note in notes)]
    values = {"base": base, "url": mod.url, "title": mod.title, "author": card.author}
    entries = [
        tools.cached_fragment(CHANGE_TEMPLATE, note=note, page=index // NOTES_PER_PAGE + 1, **values)
        for index, note in enumerate(notes)
    ]
    return _feed(tools, entries, changed=changed, title=mod.title, path=f"{mod.url}/feed", page=mod.url)


@page(context=IRoot, name="opensearch.xml", request_method="GET", permission=OPEN)
def search_description(_context: Any, request: Request) -> Response:
    """``GET /opensearch.xml``: the search of this site for browsers (OpenSearch 1.1)."""
    tools = PageHelpers(request)
    document = tools.cached_fragment(SEARCH_TEMPLATE, base=tools.absolute(""))
    response = _xml(request, document, "application/opensearchdescription+xml")
    response.headers["Vary"] = "Accept-Language"
    return response


def mods_in_sitemap(registry: Any, part: int) -> sitemap.SitemapEntries:
    """Return the published mods of one part, which covers a fixed range of ids."""
    first = part * sitemap.PART
    mods = find_service(registry, PageReader).sitemap(first, first + sitemap.PART)
    return [(f"/Modhub/{mod_id}", changed) for mod_id, changed in mods]


def parts_of_mods(registry: Any) -> int:
    """Return the number of parts up to the highest id of a published mod; higher ids are not revealed."""
    return sitemap.parts_of(find_service(registry, PageReader).highest())


def includeme(config: Configurator) -> None:
    """Add the catalogue to the sitemap."""
    config.add_sitemap("pages", lambda _registry, part: [("/Modhub", None)] if part == 0 else [])
    config.add_sitemap("mods", mods_in_sitemap, parts_of_mods)
