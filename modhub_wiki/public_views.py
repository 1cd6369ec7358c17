"""Public API reads of the wiki, without credentials."""

from importlib.resources import files
from typing import Any, Final

from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_wiki import operations
from modhub_wiki.interfaces import IDocuments, IWiki, IWikiPage
from modhub_wiki.read_service import WikiReader
from modhub_wiki.resources import WikiPageResource
from modhub_wiki.response_schemas import PagesDocument

CONTRACT: Final = (files("modhub_wiki") / "contract.md").read_bytes()


def wiki_reader(request: Request) -> WikiReader:
    """The read service of the wiki."""
    return WikiReader(request.databases.raw_queries)


def _markdown_response(body: bytes) -> Response:
    """A public Markdown response."""
    return public_json(body, "text/markdown; charset=utf-8")


@api(context=IWiki, request_method="GET", permission=OPEN, operation=operations.LIST_WIKI_PAGES)
def list_pages_view(_context: Any, request: Request) -> Response:
    """``GET /Modhub/api/wiki``"""
    pages = wiki_reader(request).pages()
    return public_json(encode(PagesDocument(len(pages), pages)))


@api(context=IWikiPage, request_method="GET", permission=OPEN, operation=operations.READ_WIKI_PAGE)
def read_page_view(context: WikiPageResource, request: Request) -> Response:
    """``GET /Modhub/api/wiki/{path}``"""
    source = wiki_reader(request).source(context.path)
    if source is None:
        raise not_found()
    return _markdown_response(source.encode())


@api(context=IDocuments, name="wiki", request_method="GET", permission=OPEN, operation=operations.READ_WIKI_CONTRACT)
def read_contract_view(_context: Any, _request: Request) -> Response:
    """``GET /api/modhub/doc/wiki`` (C-WIKI-10)"""
    return _markdown_response(CONTRACT)
