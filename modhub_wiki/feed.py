"""The changes of the wiki as Atom (RFC 4287). Not below ``/Modhub/Wiki``, where every address is a page's."""

import re
import xml.etree.ElementTree as ET
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.db import iso
from modhub.interfaces import ISite
from modhub.reads import ready
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_wiki.finding import Change
from modhub_wiki.links import ROOT
from modhub_wiki.views import finder

NAME: Final = "wiki.atom"
ADDRESS: Final = f"/Modhub/{NAME}"
_ATOM: Final = "http://www.w3.org/2005/Atom"
_NEVER: Final = "1970-01-01T00:00:00Z"
# What XML cannot hold, though text can.
_NO_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@page(context=ISite, name=NAME, request_method="GET", permission=OPEN)
def feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.atom``"""
    body = atom(str(request.registry.settings["modhub.base_url"]), finder(request).recent())
    response = ready(request, body)
    if response.status_int == 200:
        response.headers["Content-Type"] = "application/atom+xml; charset=utf-8"
    return response


def atom(base_url: str, changes: list[Change]) -> bytes:
    """The feed of these changes, newest first."""
    root = ET.Element("feed", {"xmlns": _ATOM})
    updated = iso(changes[0].created_at) if changes else _NEVER
    _texts(root, id=base_url + ADDRESS, title="Changes of the wiki", updated=updated)
    _link(root, base_url + ADDRESS, "self", "application/atom+xml")
    _link(root, base_url + ROOT, "alternate", "text/html")
    for change in changes:
        entry = ET.SubElement(root, "entry")
        address = base_url + change.url
        _texts(entry, id=address, title=change.title, updated=iso(change.created_at))
        _texts(ET.SubElement(entry, "author"), name=f"key {change.author}")
        _texts(entry, summary=f"{change.path}, revision {change.number}")
        _link(entry, address, "alternate", "text/html")
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body


def _texts(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = _NO_XML.sub("", text)


def _link(parent: ET.Element, href: str, rel: str, kind: str) -> None:
    ET.SubElement(parent, "link", {"href": href, "rel": rel, "type": kind})


def includeme(config: Configurator) -> None:
    """The feed."""
    config.scan(__name__)
