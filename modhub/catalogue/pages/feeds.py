"""What readers elsewhere follow: Atom feeds (RFC 4287), the search description, the sitemap."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

from pyramid.response import Response

from modhub.catalogue.pages.browse import address_of, page_reader, query_of
from modhub.catalogue.pages.people import name_authors
from modhub.catalogue.pages.reading import Card, Detail
from modhub.catalogue.resources import Mod
from modhub.catalogue.views import wish
from modhub.errors import not_found
from modhub.interfaces import IMod, IRoot, ISite
from modhub.pages.tools import Tools
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page

ENTRIES: Final = 20
SITEMAP: Final = 10_000
"""Mods in one sitemap file; the protocol allows 50,000."""
_ATOM: Final = "http://www.w3.org/2005/Atom"
_SITEMAPS: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SEARCH: Final = "http://a9.com/-/spec/opensearch/1.1/"
_EPOCH: Final = "1970-01-01T00:00:00Z"
# Stored text holds no control characters; these two are the rest of what XML 1.0 has no place for.
_NO_XML = re.compile("[\ufffe\uffff]")


def _add(parent: Element, name: str, text: str | None = None, **attributes: str) -> Element:
    child = SubElement(parent, name, {key: _NO_XML.sub("\ufffd", value) for key, value in attributes.items()})
    if text is not None:
        child.text = _NO_XML.sub("\ufffd", text)
    return child


def _answer(root: Element, content_type: str) -> Response:
    body = tostring(root, encoding="utf-8", xml_declaration=True)
    response = Response(body, content_type=content_type, charset="utf-8", conditional_response=True)
    response.etag = hashlib.blake2b(body, digest_size=16).hexdigest()
    response.headers["Cache-Control"] = "no-cache"
    return response


def _feed(tools: Tools, title: str, path: str, page_path: str, changed: Iterable[str]) -> Element:
    feed = Element("feed", {"xmlns": _ATOM})
    _add(feed, "id", tools.absolute(path))
    _add(feed, "title", title)
    _add(feed, "updated", max(changed, default=_EPOCH))
    _add(feed, "link", rel="self", href=tools.absolute(path), type="application/atom+xml")
    _add(feed, "link", rel="alternate", href=tools.absolute(page_path), type="text/html")
    # Every entry needs an author; where no feature knows people, the service stands in.
    _add(_add(feed, "author"), "name", "modhub")
    return feed


def _mod_entry(feed: Element, tools: Tools, card: Card) -> None:
    mod = card.mod
    entry = _add(feed, "entry")
    _add(entry, "id", f"urn:uuid:{mod.guid}")
    _add(entry, "title", f"{mod.title} {mod.version}".strip())
    _add(entry, "published", mod.created_at)
    _add(entry, "updated", mod.updated_at)
    _add(entry, "link", rel="alternate", href=tools.absolute(mod.url), type="text/html")
    if card.author:
        _add(_add(entry, "author"), "name", card.author)
    for game in mod.games:
        _add(entry, "category", term=game)
    _add(entry, "summary", card.summary, type="text")
    _add(entry, "content", mod.description, type="html")


@page(context=ISite, name="feed", request_method="GET", permission=OPEN)
def list_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/feed``: the list of exactly this filter and order, its first entries."""
    wanted = wish(request)
    cards = page_reader(request).listing(wanted).cards
    name_authors(request, cards)
    tools = Tools(request)
    parts = ["modhub", *(part for part in (wanted.game, wanted.q) if part)]
    changed = [card.mod.updated_at for card in cards]
    feed = _feed(tools, " – ".join(parts), "/Modhub/feed" + query_of(wanted), address_of(wanted), changed)
    for card in cards:
        _mod_entry(feed, tools, card)
    return _answer(feed, "application/atom+xml")


@page(context=IMod, name="feed", request_method="GET", permission=OPEN)
def mod_feed(context: Mod, request: Request) -> Response:
    """``GET /Modhub/{id}/feed``: the newest entries of a mod's changelog."""
    detail: Detail | None = page_reader(request).detail(context.id)
    if detail is None:
        raise not_found()
    name_authors(request, [detail])
    tools = Tools(request)
    mod, notes = detail.mod, detail.notes[:ENTRIES]
    changed = [mod.updated_at, *(note.edited_at or note.created_at for note in notes)]
    feed = _feed(tools, mod.title, f"{mod.url}/feed", mod.url, changed)
    for note in notes:
        entry = _add(feed, "entry")
        _add(entry, "id", tools.absolute(f"{mod.url}#note-{note.id}"))
        _add(entry, "title", f"{mod.title} {note.title or ''}".strip())
        _add(entry, "published", note.created_at)
        _add(entry, "updated", note.edited_at or note.created_at)
        _add(entry, "link", rel="alternate", href=tools.absolute(f"{mod.url}#note-{note.id}"), type="text/html")
        if detail.author:
            _add(_add(entry, "author"), "name", detail.author)
        _add(entry, "content", note.text, type="html")
    return _answer(feed, "application/atom+xml")


@page(context=IRoot, name="opensearch.xml", request_method="GET", permission=OPEN)
def search_description(_context: Any, request: Request) -> Response:
    """``GET /opensearch.xml``: how a browser searches here by itself (OpenSearch 1.1)."""
    tools = Tools(request)
    root = Element("OpenSearchDescription", {"xmlns": _SEARCH})
    _add(root, "ShortName", "modhub")
    _add(root, "Description", tools.messages.gettext("Search in titles and games"))
    _add(root, "InputEncoding", "UTF-8")
    _add(root, "Image", tools.absolute("/favicon.ico"), width="32", height="32", type="image/x-icon")
    _add(root, "Url", type="text/html", template=tools.absolute("/Modhub?q={searchTerms}&page={startPage?}"))
    _add(root, "Url", type="application/atom+xml", template=tools.absolute("/Modhub/feed?q={searchTerms}"))
    response = _answer(root, "application/opensearchdescription+xml")
    response.headers["Vary"] = "Accept-Language"
    return response


@page(context=IRoot, name="sitemap.xml", request_method="GET", permission=OPEN)
def sitemap(_context: Any, request: Request) -> Response:
    """``GET /sitemap.xml``: every published mod; where they are many, an index of parts by ``?part=``."""
    reader, tools = page_reader(request), Tools(request)
    part = query(request, "part")
    highest = reader.highest() if part is None else 0
    if highest > SITEMAP:
        root = Element("sitemapindex", {"xmlns": _SITEMAPS})
        for number in range(-(-highest // SITEMAP)):
            _add(_add(root, "sitemap"), "loc", tools.absolute(f"/sitemap.xml?part={number}"))
        return _answer(root, "application/xml")
    number = int(part) if part and re.fullmatch(r"[0-9]{1,9}", part, re.ASCII) else 0
    root = Element("urlset", {"xmlns": _SITEMAPS})
    if number == 0:
        _add(_add(root, "url"), "loc", tools.absolute("/Modhub"))
    for mod_id, changed in reader.sitemap(number * SITEMAP, (number + 1) * SITEMAP):
        url = _add(root, "url")
        _add(url, "loc", tools.absolute(f"/Modhub/{mod_id}"))
        _add(url, "lastmod", changed)
    return _answer(root, "application/xml")
