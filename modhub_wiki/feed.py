"""Wiki changes as Atom (RFC 4287) and JSON Feed. Not below ``/Modhub/Wiki``, where every path may be a page."""

import re
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.plugins.resources import ISite
from modhub.ui.atom import AtomEntry, atom_feed
from modhub.ui.json_feed import plain_json_feed
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_wiki.links import ROOT
from modhub_wiki.public_views import wiki_reader
from modhub_wiki.read_service import Change

NAME: Final = "wiki.atom"
JSON_NAME: Final = "wiki.json"
WIKI_FEED_PATH: Final = f"/Modhub/{NAME}"
WIKI_JSON_FEED_PATH: Final = f"/Modhub/{JSON_NAME}"
_TITLE: Final = "Changes of the wiki"


@page(context=ISite, name=NAME, request_method="GET", permission=OPEN)
def wiki_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.atom``"""
    return atom_feed(request, WIKI_FEED_PATH, ROOT, _TITLE, recent_entries(request), twin=WIKI_JSON_FEED_PATH)


@page(context=ISite, name=JSON_NAME, request_method="GET", permission=OPEN)
def wiki_json_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.json``: the same as JSON Feed."""
    return plain_json_feed(request, WIKI_JSON_FEED_PATH, ROOT, _TITLE, recent_entries(request))


def recent_entries(request: Request) -> list[AtomEntry]:
    """The newest revisions as entries of a feed."""
    return [wiki_feed_entry(change) for change in wiki_reader(request).recent()]


def wiki_feed_entry(change: Change) -> AtomEntry:
    """The feed entry of a revision."""
    text = f"{change.path}, revision {change.number}"
    return AtomEntry(change.url, change.url, change.title, change.created_at, text, author=f"key {change.author}")


def includeme(config: Configurator) -> None:
    """Register the feeds."""
    for path in (WIKI_FEED_PATH, WIKI_JSON_FEED_PATH):
        config.add_cross_origin(re.escape(path))
    config.scan(__name__)
