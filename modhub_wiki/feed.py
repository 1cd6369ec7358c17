"""The changes of the wiki as Atom (RFC 4287). Not below ``/Modhub/Wiki``, where every address is a page's."""

import re
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.interfaces import ISite
from modhub.pages.atom import Entry, atom_feed
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_wiki.finding import Change
from modhub_wiki.links import ROOT
from modhub_wiki.views import finder

NAME: Final = "wiki.atom"
ADDRESS: Final = f"/Modhub/{NAME}"


@page(context=ISite, name=NAME, request_method="GET", permission=OPEN)
def feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/wiki.atom``"""
    return atom_feed(request, ADDRESS, ROOT, "Changes of the wiki", map(feed_entry, finder(request).recent()))


def feed_entry(change: Change) -> Entry:
    """A revision in the feed."""
    text = f"{change.path}, revision {change.number}"
    return Entry(change.url, change.url, change.title, change.created_at, text, author=f"key {change.author}")


def includeme(config: Configurator) -> None:
    """The feed."""
    config.add_cross_origin(re.escape(ADDRESS))
    config.scan(__name__)
