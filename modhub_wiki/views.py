"""The wiki for programs that read: no credential is looked at."""

from importlib.resources import files
from typing import Any, Final

from pyramid.response import Response

from modhub.errors import not_found
from modhub.payload import encode
from modhub.reads import ready
from modhub.request import Request
from modhub.views import OPEN, api
from modhub_wiki.documents import PagesDocument
from modhub_wiki.finding import Finder
from modhub_wiki.interfaces import IDocuments, IWiki, IWikiPage
from modhub_wiki.resources import Page

CONTRACT: Final = (files("modhub_wiki") / "contract.md").read_bytes()


def finder(request: Request) -> Finder:
    """The reading side of the wiki."""
    found: Finder = request.registry.wiki
    return found


def _markdown(request: Request, body: bytes) -> Response:
    """A public answer of Markdown with a strong ETag."""
    return ready(request, body, "text/markdown; charset=utf-8")


@api(context=IWiki, request_method="GET", permission=OPEN)
def list_pages(_context: Any, request: Request) -> Response:
    """``GET /Modhub/api/wiki``"""
    pages = finder(request).pages()
    return ready(request, encode(PagesDocument(len(pages), pages)))


@api(context=IWikiPage, request_method="GET", permission=OPEN)
def read_page(context: Page, request: Request) -> Response:
    """``GET /Modhub/api/wiki/{path}``"""
    source = finder(request).source(context.path)
    if source is None:
        raise not_found()
    return _markdown(request, source.encode())


@api(context=IDocuments, name="wiki", request_method="GET", permission=OPEN)
def read_contract(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/doc/wiki`` (decisions 5.5)"""
    return _markdown(request, CONTRACT)
