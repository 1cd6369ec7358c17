"""Atom feeds (RFC 4287) with their twins as JSON Feed, the OpenSearch description, and the mods in the sitemap."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from markupsafe import Markup
from msgspec import Struct
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.base.service_registry import find_service
from modhub.catalogue.documents import NoteDocument
from modhub.catalogue.pages.browse import (
    find_authors,
    page_list_params,
    page_reader,
    query_of,
    render_feed_entry,
)
from modhub.catalogue.pages.cards import FeedEntry, ModUpdate
from modhub.catalogue.pages.container import PageServices
from modhub.catalogue.pages.presenter import ModPresenter
from modhub.catalogue.pages.statements import NOTES_PER_PAGE
from modhub.catalogue.reading.service import ListParams
from modhub.catalogue.resources import ModResource
from modhub.db import iso
from modhub.db.changes import ChangeEntry
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.resources import IMod, IRoot, ISite
from modhub.plugins.services import Profile
from modhub.ui import sitemap
from modhub.ui.atom import EPOCH
from modhub.ui.json_feed import JsonFeedAuthor, JsonFeedItem, absolute_images, json_feed
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import xml_response
from modhub.web.compression import add_vary
from modhub.web.openapi import REFERENCE
from modhub.web.request import Request
from modhub.web.views import OPEN, page

ENTRIES: Final = 20
"""Changelog entries in a mod's feed."""
MODS_FEED_TEMPLATE: Final = "modhub.catalogue:templates/feed.jinja2"
CHANGE_TEMPLATE: Final = "modhub.catalogue:templates/change.jinja2"
SEARCH_TEMPLATE: Final = "modhub.catalogue:templates/opensearch.jinja2"
_SHORT_NAME: Final = 16
"""What OpenSearch 1.1 allows."""
# Stored text has no control characters; these two are the other characters that XML 1.0 does not allow.
_NOT_XML = re.compile("[\ufffe\uffff]")


def _xml(document: str, content_type: str) -> Response:
    return xml_response(_NOT_XML.sub("\ufffd", document.lstrip()), content_type)


def _feed(
    tools: PageHelpers,
    entries: list[Markup],
    *,
    changed: Iterable[str],
    deleted: Sequence[ChangeEntry] = (),
    **values: str,
) -> Response:
    """``values``: the feed's ``title``, its ``path``, that of its ``twin``, and ``page``, the HTML page of the same."""
    tombstones = [(change.key, iso(change.at)) for change in deleted]
    newest = max([*changed, *(at for _, at in tombstones)], default=EPOCH)
    dynamic: dict[str, Any] = {"updated": newest, "entries": entries, "deleted": tombstones}
    feed = tools.render(MODS_FEED_TEMPLATE, base=tools.absolute(""), site_name=tools.site_name, **dynamic, **values)
    return _xml(feed, "application/atom+xml")


@page(context=ISite, name="feed", request_method="GET", permission=OPEN)
def list_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed``: the versions of the mods in the list with the same filter and order, newest first."""
    params = page_list_params(request)
    twin = "/Modhub/feed.json" + query_of(params)
    head = {
        "title": _list_title(request, params),
        "path": "/Modhub/feed" + query_of(params),
        "page": "/Modhub" + query_of(params),
    }
    reader = page_reader(request)
    return updates_feed(request, reader.updates(params), reader.deletions(), twin=twin, **head)


def updates_feed(
    request: Request, updates: list[ModUpdate], deleted: Sequence[ChangeEntry] = (), **values: str
) -> Response:
    """Return versions of mods as an Atom feed; ``values`` as in :func:`_feed`."""
    tools, authors = PageHelpers(request), find_authors(request, [card for card, _ in updates])
    entries = [render_feed_entry(tools, card, authors.get(card.owner), entry) for card, entry in updates]
    return _feed(tools, entries, changed=(entry.updated for _, entry in updates), deleted=deleted, **values)


@page(context=ISite, name="feed.json", request_method="GET", permission=OPEN)
def list_json_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed.json``: the same as JSON Feed."""
    params = page_list_params(request)
    reader = page_reader(request)
    items = update_items(request, reader.updates(params))
    path = "/Modhub/feed.json" + query_of(params)
    extension = JsonFeedExtension([_tombstone(change) for change in reader.deletions()])
    return json_feed(
        request, path, "/Modhub" + query_of(params), _list_title(request, params), items, extension=extension
    )


class JsonFeedExtension(Struct):
    """``_modhub`` of the list's feed: the tombstones, as in the change feed.

    Whatever the filter: what a deleted mod was is not known any more.
    """

    deleted: list[dict[str, Any]]


def _tombstone(change: ChangeEntry) -> dict[str, Any]:
    return {"serial": change.serial, "guid": change.key, "at": iso(change.at), "what": change.what}


def _list_title(request: Request, params: ListParams) -> str:
    parts = (params.game, *dict(params.filters).values(), params.q)
    return " – ".join([PageHelpers(request).site_name, "New and updated mods", *filter(None, parts)])


def update_items(request: Request, updates: list[ModUpdate]) -> list[JsonFeedItem]:
    """Return versions of mods as items of a JSON feed."""
    authors = find_authors(request, [card for card, _ in updates])
    base = PageHelpers(request).absolute("")
    return [_update_item(base, card, authors.get(card.owner), entry) for card, entry in updates]


def _update_item(base: str, card: ModPresenter, author: Profile | None, entry: FeedEntry) -> JsonFeedItem:
    mod = card.mod
    return JsonFeedItem(
        id=entry.id,
        url=base + mod.url,
        title=f"{mod.title} {entry.version}".rstrip(),
        content_html=absolute_images(base, entry.html),
        summary=entry.summary,
        date_published=entry.published,
        date_modified=entry.updated,
        authors=_authors(author),
        tags=mod.games,
        extension={"id": mod.id, "guid": mod.guid, "version": entry.version},
    )


def _authors(author: Profile | None) -> list[JsonFeedAuthor]:
    return [JsonFeedAuthor(author.name)] if author is not None and author.name else []


@page(context=IMod, name="feed", request_method="GET", permission=OPEN)
def mod_feed(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/feed``: the newest entries of a mod's changelog."""
    card, author, notes = _mod_changes(context, request)
    tools, mod = PageHelpers(request), card.mod
    base = tools.absolute("")
    changed = [mod.updated_at, *(note.edited_at or note.created_at for note in notes)]
    values = {"base": base, "url": mod.url, "title": mod.title, "author": author and author.name}
    entries = [
        tools.render(CHANGE_TEMPLATE, note=note, page=index // NOTES_PER_PAGE + 1, **values)
        for index, note in enumerate(notes)
    ]
    path, twin = f"{mod.url}/feed", f"{mod.url}/feed.json"
    return _feed(tools, entries, changed=changed, title=mod.title, path=path, twin=twin, page=mod.url)


@page(context=IMod, name="feed.json", request_method="GET", permission=OPEN)
def mod_json_feed(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/feed.json``: the same as JSON Feed."""
    card, author, notes = _mod_changes(context, request)
    mod, base = card.mod, PageHelpers(request).absolute("")
    items = [_note_item(base, card, author, note, index // NOTES_PER_PAGE + 1) for index, note in enumerate(notes)]
    return json_feed(request, f"{mod.url}/feed.json", mod.url, mod.title, items)


def _mod_changes(context: ModResource, request: Request) -> tuple[ModPresenter, Profile | None, list[NoteDocument]]:
    changes = page_reader(request).changes(context.id, ENTRIES)
    if changes is None:
        raise not_found()
    card, notes = changes
    return card, find_authors(request, [card]).get(card.owner), notes


def _note_item(
    base: str, card: ModPresenter, author: Profile | None, note: NoteDocument, shown_on: int
) -> JsonFeedItem:
    address, anchor = base + card.mod.url, f"#note-{note.id}"
    return JsonFeedItem(
        id=address + anchor,
        url=address + (f"?changelog={shown_on}" if shown_on > 1 else "") + anchor,
        title=f"{card.mod.title} {note.title or ''}".rstrip(),
        content_html=absolute_images(base, note.text),
        date_published=note.created_at,
        date_modified=note.edited_at or note.created_at,
        authors=_authors(author),
    )


@page(context=IRoot, name="opensearch.xml", request_method="GET", permission=OPEN)
def search_description(_context: Any, request: Request) -> Response:
    """``GET /opensearch.xml``: the search of this site for browsers (OpenSearch 1.1)."""
    tools = PageHelpers(request)
    document = tools.render(SEARCH_TEMPLATE, base=tools.absolute(""), name=tools.site_name[:_SHORT_NAME])
    response = _xml(document, "application/opensearchdescription+xml")
    add_vary(response, "Cookie, Accept-Language")
    return response


def mods_in_sitemap(registry: Any, part: int) -> SitemapEntries:
    """Return the published mods of one part, which covers a fixed range of ids."""
    first = part * sitemap.PART
    mods = find_service(registry, PageServices).pages.sitemap(first, first + sitemap.PART)
    return [(f"/Modhub/{mod_id}", changed) for mod_id, changed in mods]


def parts_of_mods(registry: Any) -> int:
    """Return the number of parts up to the highest id of a published mod; higher ids are not revealed."""
    return sitemap.parts_of(find_service(registry, PageServices).pages.highest())


def pages_in_sitemap(_registry: Any, part: int) -> SitemapEntries:
    """The list of mods and the API's reference."""
    return [("/Modhub", None), (REFERENCE, None)] if part == 0 else []


def includeme(config: Configurator) -> None:
    """Add the catalogue to the sitemap."""
    config.add_sitemap("pages", pages_in_sitemap)
    config.add_sitemap("mods", mods_in_sitemap, parts_of_mods)
