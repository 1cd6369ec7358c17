"""JSON Feed 1.1 (https://jsonfeed.org/version/1.1): every Atom feed has a twin with the same entries."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct
from pyramid.response import Response

from modhub.db import iso
from modhub.ui.atom import AtomEntry
from modhub.web.request import Request
from modhub.web.responses import public_response

JSON_FEED_TYPE: Final = "application/feed+json"
_VERSION: Final = "https://jsonfeed.org/version/1.1"
# In cleaned HTML no attribute has a "<", ">" or '"' of its own.
_OWN_IMAGE: Final = re.compile(r'(<img (?:[^<>]* )?src=")(?=/)')


class JsonFeedAuthor(Struct):
    """Who wrote an item."""

    name: str


class JsonFeedAttachment(Struct):
    """The file of an item."""

    url: str
    mime_type: str
    size_in_bytes: int


class JsonFeedItem(Struct, omit_defaults=True):
    """An item. ``extension`` is what only this service has (``_modhub``)."""

    id: str
    url: str
    title: str
    date_published: str
    date_modified: str
    content_html: str | None = None
    content_text: str | None = None
    summary: str | None = None
    authors: list[JsonFeedAuthor] = []
    tags: list[str] = []
    attachments: list[JsonFeedAttachment] = []
    extension: dict[str, str | int] | None = msgspec.field(default=None, name="_modhub")


class _JsonFeed(Struct, omit_defaults=True):
    version: str
    title: str
    home_page_url: str
    feed_url: str
    items: list[JsonFeedItem]
    extension: Struct | None = msgspec.field(default=None, name="_modhub")


def json_feed(
    request: Request,
    path: str,
    page: str,
    title: str,
    items: Iterable[JsonFeedItem],
    *,
    extension: Struct | None = None,
) -> Response:
    """Return the feed at ``path``. ``items`` are newest first; ``page`` is the HTML page with the same content.

    Images in their cleaned HTML get absolute addresses: unlike Atom, JSON Feed has no base for relative ones.
    ``extension`` is what only this service has (``_modhub``).
    """
    base_url = str(request.registry.settings["modhub.base_url"])
    listed = list(items)
    for item in listed:
        if item.content_html:
            item.content_html = _OWN_IMAGE.sub(lambda tag: tag[1] + base_url, item.content_html)
    feed = _JsonFeed(_VERSION, title, base_url + page, base_url + path, listed, extension)
    return public_response(msgspec.json.encode(feed), JSON_FEED_TYPE, (("Cache-Control", "no-cache"),))


def plain_json_feed(request: Request, path: str, page: str, title: str, entries: Iterable[AtomEntry]) -> Response:
    """The twin of :func:`modhub.ui.atom.atom_feed`, from the same entries."""
    base_url = str(request.registry.settings["modhub.base_url"])
    return json_feed(request, path, page, title, (_plain_item(base_url, entry) for entry in entries))


def _plain_item(base_url: str, entry: AtomEntry) -> JsonFeedItem:
    address, updated = base_url + entry.path, iso(entry.updated)
    file = entry.file
    return JsonFeedItem(
        id=address,
        url=base_url + entry.page,
        title=entry.title,
        date_published=updated,
        date_modified=updated,
        content_text=entry.text,
        authors=[JsonFeedAuthor(entry.author)] if entry.author else [],
        attachments=[JsonFeedAttachment(address, file.content_type, file.size)] if file else [],
    )
