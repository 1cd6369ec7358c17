"""Atom feeds (RFC 4287) with plain-text entries. The feeds of mods have HTML and are templates of the catalogue."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyramid.response import Response

from modhub.db import iso
from modhub.ui.xml_responses import xml_response
from modhub.web.request import Request

_ATOM: Final = "http://www.w3.org/2005/Atom"
EPOCH: Final = "1970-01-01T00:00:00Z"
"""When a feed without entries was updated."""
# Characters that XML 1.0 does not allow.
_NOT_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class AtomFile:
    """The file of an entry: its media type and its size in bytes."""

    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class AtomEntry:
    """An entry. ``path`` is its id and address, ``page`` the page about it.

    ``file`` is set if there is a file at ``path``.
    """

    path: str
    page: str
    title: str
    updated: datetime
    text: str
    author: str = ""
    file: AtomFile | None = None


def atom_feed(
    request: Request, path: str, page: str, title: str, entries: Iterable[AtomEntry], *, twin: str
) -> Response:
    """Return the feed at ``path``. ``entries`` are newest first; ``page`` is the HTML page with the same content.

    ``twin`` is the path of the same feed as JSON (:mod:`modhub.ui.json_feed`).
    """
    base_url = str(request.registry.settings["modhub.base_url"])
    listed = list(entries)
    root = ET.Element("feed", {"xmlns": _ATOM})
    _add_texts(root, id=base_url + path, title=title, updated=iso(listed[0].updated) if listed else EPOCH)
    _add_texts(ET.SubElement(root, "author"), name=request.registry.settings["modhub.site_name"])
    _add_link(root, base_url + path, rel="self", type="application/atom+xml")
    _add_link(root, base_url + page, rel="alternate", type="text/html")
    _add_link(root, base_url + twin, rel="alternate", type="application/feed+json")
    for entry in listed:
        _fill_entry(ET.SubElement(root, "entry"), base_url, entry)
    return xml_response(ET.tostring(root, encoding="utf-8", xml_declaration=True), "application/atom+xml")


def _fill_entry(element: ET.Element, base_url: str, entry: AtomEntry) -> None:
    url = base_url + entry.path
    _add_texts(element, id=url, title=entry.title, updated=iso(entry.updated), summary=entry.text)
    if entry.author:
        _add_texts(ET.SubElement(element, "author"), name=entry.author)
    _add_link(element, base_url + entry.page, rel="alternate", type="text/html")
    if entry.file is not None:
        _add_link(element, url, rel="enclosure", type=entry.file.content_type, length=str(entry.file.size))


def _add_texts(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = _NOT_XML.sub("", text)


def _add_link(parent: ET.Element, href: str, **attributes: str) -> None:
    cleaned = {name: _NOT_XML.sub("", value) for name, value in attributes.items()}
    ET.SubElement(parent, "link", {"href": href, **cleaned})
