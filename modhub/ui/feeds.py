"""Feeds as Atom (RFC 4287), each with a twin as JSON Feed 1.1 (https://jsonfeed.org/version/1.1) of the same items."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from pyramid.response import Response

from modhub.plugins.services import FeedHead
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import xml_response
from modhub.web.request import Request
from modhub.web.responses import public_response

_VERSION: Final = "https://jsonfeed.org/version/1.1"
_EPOCH: Final = "1970-01-01T00:00:00Z"
"""When a feed without items was updated."""
# In cleaned HTML no attribute has a "<", ">" or '"' of its own.
_OWN_IMAGE: Final = re.compile(r'(<img (?:[^<>]* )?src=")(?=/)')


class FeedAuthor(Struct):
    """Who wrote an item."""

    name: str


class FeedAttachment(Struct):
    """The file of an item."""

    url: str
    mime_type: str
    size_in_bytes: int


class FeedItem(Struct, omit_defaults=True):
    """An item, named as in JSON Feed. Addresses are absolute, but for images in ``content_html``.

    It has ``content_html``, which is cleaned, or ``content_text``. ``extension`` is what only this service has
    (``_modhub``).
    """

    id: str
    url: str
    title: str
    date_published: str
    date_modified: str
    content_html: str | None = None
    content_text: str | None = None
    summary: str | None = None
    authors: list[FeedAuthor] = []
    tags: list[str] = []
    attachments: list[FeedAttachment] = []
    extension: dict[str, str | int] | None = msgspec.field(default=None, name="_modhub")


class _JsonFeed(Struct, omit_defaults=True):
    version: str
    title: str
    home_page_url: str
    feed_url: str
    items: list[FeedItem]
    extension: dict[str, Any] | None = msgspec.field(default=None, name="_modhub")


def feed_response(
    request: Request,
    head: FeedHead,
    items: list[FeedItem],
    *,
    changed: str = _EPOCH,
    deleted: Sequence[dict[str, Any]] | None = None,
) -> Response:
    """Return a feed as JSON Feed for a view whose name ends with ``.json``, else as Atom: a public response.

    ``items`` are newest first; ``changed`` is when what they are about was changed last. ``deleted`` are changes with
    ``guid`` and ``at``.
    """
    ui = PageHelpers(request)
    base = ui.absolute("")
    if not request.view_name.endswith(".json"):
        newest = max([changed, *(item.date_modified for item in items), *(gone["at"] for gone in deleted or ())])
        values = {"updated": newest, "items": items, "deleted": deleted or (), "base": base}
        feed = ui.render("modhub:templates/feed.jinja2", site_name=ui.site_name, **values, **head._asdict())
        return xml_response(feed, "application/atom+xml")
    for item in items:
        if item.content_html:
            # Unlike Atom, JSON Feed has no base for relative addresses.
            item.content_html = _OWN_IMAGE.sub(lambda tag: tag[1] + base, item.content_html)
    extension = None if deleted is None else {"deleted": deleted}
    twin = _JsonFeed(_VERSION, head.title, base + head.page, base + head.twin, items, extension)
    return public_response(msgspec.json.encode(twin), "application/feed+json", (("Cache-Control", "no-cache"),))
