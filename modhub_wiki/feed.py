"""Wiki changes as Atom (RFC 4287). Not below ``/Modhub/Wiki``, where every path may be a page."""

import re
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.interfaces import ISite
from modhub.request import Request
from modhub.ui.atom import AtomEntry, atom_feed
from modhub.views import OPEN, page
from modhub_wiki.links import ROOT
from modhub_wiki.public_views import wiki_reader
from modhub_wiki.read_service import Change

NAME: Final = "wiki.atom"
WIKI_FEED_PATH: Final = f"/Modhub/{NAME}"


@page(context=ISite, name=NAME, request_method="GET", permission=OPEN)
def wiki_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.atom``"""
    return atom_feed(
        request, WIKI_FEED_PATH, ROOT, "Changes of the wiki", map(wiki_feed_entry, wiki_reader(request).recent())
    )


def wiki_feed_entry(change: Change) -> AtomEntry:
    """The feed entry of a revision."""
    text = f"{change.path}, revision {change.number}"
    return AtomEntry(change.url, change.url, change.title, change.created_at, text, author=f"key {change.author}")


def includeme(config: Configurator) -> None:
    """Register the feed."""
    config.add_cross_origin(re.escape(WIKI_FEED_PATH))
    config.scan(__name__)
