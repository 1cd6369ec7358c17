"""Atom feeds (RFC 4287) with their twins as JSON Feed, the OpenSearch description, and the mods in the sitemap."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.errors import found
from modhub.base.service_registry import find_service
from modhub.catalogue.documents import NoteDocument
from modhub.catalogue.pages import statements
from modhub.catalogue.pages.browse import (
    find_authors,
    page_list_params,
    page_reader,
    query_of,
)
from modhub.catalogue.pages.cards import FeedEntry, ModUpdate
from modhub.catalogue.pages.presenter import ModPresenter
from modhub.catalogue.pages.statements import NOTES_PER_PAGE
from modhub.catalogue.reading.service import ListParams
from modhub.catalogue.resources import ModResource
from modhub.db import Databases, from_micros, iso
from modhub.db.changes import ChangeEntry
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.resources import IMod, IRoot, ISite
from modhub.plugins.services import FeedHead, Profile
from modhub.ui import sitemap
from modhub.ui.feeds import FeedAuthor, FeedItem, feed_response
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import xml_response
from modhub.web.compression import add_vary
from modhub.web.openapi import REFERENCE
from modhub.web.request import Request
from modhub.web.views import OPEN, page

ENTRIES: Final = 20
"""Changelog entries in a mod's feed."""
SEARCH_TEMPLATE: Final = "modhub.catalogue:templates/opensearch.jinja2"
_SHORT_NAME: Final = 16
"""What OpenSearch 1.1 allows."""


@page(context=ISite, name="feed", request_method="GET", permission=OPEN)
@page(context=ISite, name="feed.json", request_method="GET", permission=OPEN)
def list_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed`` and ``feed.json``: the versions of the mods in the list with the same filter and order."""
    params, reader = page_list_params(request), page_reader(request)
    asked = query_of(params)
    head = FeedHead(
        _list_title(request, params), f"/Modhub/feed{asked}", f"/Modhub{asked}", f"/Modhub/feed.json{asked}"
    )
    return updates_feed(request, head, reader.updates(params), reader.deletions())


def updates_feed(
    request: Request,
    head: FeedHead,
    updates: list[ModUpdate],
    deleted: Sequence[ChangeEntry] | None = None,
) -> Response:
    """Return versions of mods, newest first, as a feed; ``deleted`` is for those that have all mods."""
    base, authors = PageHelpers(request).absolute(""), find_authors(request, [card for card, _ in updates])
    items = [_update_item(base, card, authors.get(card.owner), entry) for card, entry in updates]
    tombstones = None if deleted is None else [_tombstone(change) for change in deleted]
    return feed_response(request, head, items, deleted=tombstones)


def _tombstone(change: ChangeEntry) -> dict[str, Any]:
    """As in the change feed. Whatever the filter: what a deleted mod was is not known any more."""
    return {"serial": change.serial, "guid": change.key, "at": iso(change.at), "what": change.what}


def _list_title(request: Request, params: ListParams) -> str:
    parts = (params.game, *dict(params.filters).values(), params.q)
    return " – ".join([PageHelpers(request).site_name, "New and updated mods", *filter(None, parts)])


def _update_item(base: str, card: ModPresenter, author: Profile | None, entry: FeedEntry) -> FeedItem:
    mod = card.mod
    return FeedItem(
        id=entry.id,
        url=base + mod.url,
        title=f"{mod.title} {entry.version}".rstrip(),
        content_html=entry.html,
        summary=entry.summary,
        date_published=entry.published,
        date_modified=entry.updated,
        authors=_authors(author),
        tags=mod.games,
        extension={"id": mod.id, "guid": mod.guid, "version": entry.version},
    )


def _authors(author: Profile | None) -> list[FeedAuthor]:
    return [FeedAuthor(author.name)] if author is not None and author.name else []


@page(context=IMod, name="feed", request_method="GET", permission=OPEN)
@page(context=IMod, name="feed.json", request_method="GET", permission=OPEN)
def mod_feed(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/feed`` and ``feed.json``: the newest entries of a mod's changelog."""
    card, notes = found(page_reader(request).changes(context.id, ENTRIES))
    base, mod, author = PageHelpers(request).absolute(""), card.mod, find_authors(request, [card]).get(card.owner)
    head = FeedHead(mod.title, f"{mod.url}/feed", mod.url, f"{mod.url}/feed.json")
    items = [_note_item(base, card, author, note, at // NOTES_PER_PAGE + 1) for at, note in enumerate(notes)]
    return feed_response(request, head, items, changed=mod.updated_at)


def _note_item(base: str, card: ModPresenter, author: Profile | None, note: NoteDocument, shown_on: int) -> FeedItem:
    address, anchor = base + card.mod.url, f"#note-{note.id}"
    return FeedItem(
        id=address + anchor,
        url=address + (f"?changelog={shown_on}" if shown_on > 1 else "") + anchor,
        title=f"{card.mod.title} {note.title or ''}".rstrip(),
        content_html=note.text,
        date_published=note.created_at,
        date_modified=note.edited_at or note.created_at,
        authors=_authors(author),
    )


@page(context=IRoot, name="opensearch.xml", request_method="GET", permission=OPEN)
def search_description(_context: Any, request: Request) -> Response:
    """``GET /opensearch.xml``: the search of this site for browsers (OpenSearch 1.1)."""
    tools = PageHelpers(request)
    document = tools.render(SEARCH_TEMPLATE, base=tools.absolute(""), name=tools.site_name[:_SHORT_NAME])
    response = xml_response(document, "application/opensearchdescription+xml")
    add_vary(response, "Cookie, Accept-Language")
    return response


def _listed(statement: PreparedQuery, address: str) -> Callable[[Any, int], SitemapEntries]:
    """What returns one part of the sitemap, which covers a fixed range of ids."""

    def read_part(registry: Any, part: int) -> SitemapEntries:
        above = part * sitemap.PART
        rows = find_service(registry, Databases).raw_queries.rows(statement, above=above, upto=above + sitemap.PART)
        return [(f"{address}{number}", iso(from_micros(changed))) for number, changed in rows]

    return read_part


def _parts(highest: PreparedQuery) -> Callable[[Any], int]:
    """What returns the number of parts up to the highest id of what is published; higher ids are not revealed."""
    return lambda registry: sitemap.parts_of(find_service(registry, Databases).raw_queries.rows(highest)[0][0] or 0)


def pages_in_sitemap(_registry: Any, part: int) -> SitemapEntries:
    """The list of mods and the API's reference."""
    return [("/Modhub", None), (REFERENCE, None)] if part == 0 else []


def includeme(config: Configurator) -> None:
    """Add the catalogue to the sitemap."""
    config.add_sitemap("pages", pages_in_sitemap)
    config.add_sitemap("mods", _listed(statements.SITEMAP, "/Modhub/"), _parts(statements.HIGHEST))
    config.add_sitemap("authors", _listed(statements.AUTHORS, "/Modhub/by/"), _parts(statements.LAST_AUTHOR))
