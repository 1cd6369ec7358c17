"""Atom feeds (RFC 4287) whose entries are plain text. Those of mods have HTML and are templates of the catalogue."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyramid.response import Response

from modhub.db import iso
from modhub.request import Request
from modhub.ui.xml_responses import xml_response

_ATOM: Final = "http://www.w3.org/2005/Atom"
_NEVER: Final = "1970-01-01T00:00:00Z"
# What XML 1.0 cannot hold, though text can.
_NO_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class AtomFile:
    """A file that an entry is about: its media type and its bytes."""

    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class AtomEntry:
    """An entry: ``path`` is its identity and where it is found, ``page`` the page that tells more.

    ``file``: what stands at ``path`` is a file.
    """

    path: str
    page: str
    title: str
    updated: datetime
    text: str
    author: str = ""
    file: AtomFile | None = None


def atom_feed(request: Request, path: str, page: str, title: str, entries: Iterable[AtomEntry]) -> Response:
    """The feed at ``path`` with these entries, newest first; ``page`` says the same to people."""
    base_url = str(request.registry.settings["modhub.base_url"])
    found = list(entries)
    root = ET.Element("feed", {"xmlns": _ATOM})
    _texts(root, id=base_url + path, title=title, updated=iso(found[0].updated) if found else _NEVER)
    _texts(ET.SubElement(root, "author"), name="modhub")
    _link(root, base_url + path, rel="self", type="application/atom+xml")
    _link(root, base_url + page, rel="alternate", type="text/html")
    for entry in found:
        _entry(ET.SubElement(root, "entry"), base_url, entry)
    return xml_response(request, ET.tostring(root, encoding="utf-8", xml_declaration=True), "application/atom+xml")


def _entry(element: ET.Element, base_url: str, entry: AtomEntry) -> None:
    address = base_url + entry.path
    _texts(element, id=address, title=entry.title, updated=iso(entry.updated), summary=entry.text)
    if entry.author:
        _texts(ET.SubElement(element, "author"), name=entry.author)
    _link(element, base_url + entry.page, rel="alternate", type="text/html")
    if entry.file is not None:
        _link(element, address, rel="enclosure", type=entry.file.content_type, length=str(entry.file.size))


def _texts(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = _NO_XML.sub("", text)


def _link(parent: ET.Element, href: str, **attributes: str) -> None:
    clean = {name: _NO_XML.sub("", value) for name, value in attributes.items()}
    ET.SubElement(parent, "link", {"href": href, **clean})
