"""The API of the wiki: anonymous reads, and publishing with a machine key (C-WIKI-2).

Pages are rendered before the transaction begins.
"""

import hashlib
import hmac
from importlib.resources import files
from typing import Any, Final

from pyramid.response import Response

from modhub.base.errors import found, invalid
from modhub.base.operations import FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.content import limits as core_limits
from modhub.content.text import scrub
from modhub.db import iso
from modhub.plugins.security import presented_key
from modhub.web.payload import encode, query, read_text
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_wiki import limits, services
from modhub_wiki.models import MAX_AUTHOR
from modhub_wiki.read_service import WikiReader
from modhub_wiki.resources import IDocuments, IWiki, IWikiPage, WikiPageResource, WikiPermission
from modhub_wiki.response_schemas import PageDocument, PagesDocument, page_url

MARKDOWN: Final = FileBody("Markdown in UTF-8.", "text/markdown")
BAD_PATH: Final = Refusal(400, "invalid_input", "A bad path.")
NO_PAGE: Final = Refusal(404, "not_found", "No such page.")


_BAD_PATH: Final = (
    "The path must be words of letters, digits, '.', '_' and '-' that begin with a letter or a digit, "
    f"joined by '/', of at most {limits.PATH} characters."
)


def fingerprint(request: Request) -> str:
    """A short fingerprint of the machine key, which has no name: it stands for the key in a page's history.

    It is public, so it is keyed with ``modhub.secret``: nobody else can test keys against it. A key keeps its
    fingerprint until the first of the secrets changes.
    """
    secret = request.registry.settings["modhub.secret"][0]
    message = "wiki author: " + (presented_key(request) or "")
    return hmac.digest(secret.encode(), message.encode("utf-8", "surrogateescape"), hashlib.sha256).hex()[:MAX_AUTHOR]


def require_path(context: WikiPageResource) -> str:
    """The path of the page; 400 if it is not a valid path."""
    if context.path is None:
        raise invalid(_BAD_PATH)
    return context.path


def read_markdown(request: Request) -> str:
    """The Markdown of the body with ``\\n`` line ends; 400 if it is empty or not UTF-8."""
    source = scrub(read_text(request, limits.TEXT).replace("\r\n", "\n").replace("\r", "\n"))
    if not source.strip():
        raise invalid("The body is empty. Send the page as Markdown.")
    return source


@api(
    context=IWikiPage,
    request_method=("PUT", "POST"),
    permission=WikiPermission.PUBLISH,
    operation=Operation(
        id="publish_wiki_page",
        about="Publish a page of the developer wiki.",
        takes=MARKDOWN,
        returns=PageDocument,
        also=(201,),
        parameters=(
            Parameter(
                "title",
                f"Cut at {core_limits.TITLE} characters; not sent: the first heading, else the last word of the path.",
            ),
        ),
        refusals=(
            Refusal(400, "invalid_input", "A bad path, an empty body, a multipart form, or not UTF-8."),
            body_over(limits.TEXT),
        ),
        leads_to=(Lead("read_wiki_page", {"path": "$response.body#/path"}),),
        clauses=("C-WIKI-1", "C-WIKI-2", "C-WIKI-7", "C-KEY-1", "C-KEY-2"),
    ),
)
def publish_page_view(context: WikiPageResource, request: Request) -> PageDocument:
    """``PUT`` and ``POST /Modhub/api/wiki/{path}``: 201 on creation, 200 on change."""
    path = require_path(context)
    draft = services.draft_page(path, read_markdown(request), query(request, "title"))
    page, created = services.publish_page(request.dbsession, draft, fingerprint(request))
    request.response.status_int = 201 if created else 200
    return PageDocument(page.path, page.title, page_url(page.path), page.revision, iso(page.updated_at))


@api(
    context=IWikiPage,
    request_method="DELETE",
    permission=WikiPermission.PUBLISH,
    operation=Operation(
        id="remove_wiki_page",
        about="Remove a page of the developer wiki.",
        status=204,
        refusals=(BAD_PATH, NO_PAGE),
        clauses=("C-WIKI-5", "C-KEY-1", "C-KEY-2"),
    ),
)
def remove_page_view(context: WikiPageResource, request: Request) -> Response:
    """``DELETE /Modhub/api/wiki/{path}``: 204, or 404 if there is no such page."""
    services.remove_page(request.dbsession, require_path(context))
    return Response(status=204)


CONTRACT: Final = (files("modhub_wiki") / "contract.md").read_bytes()


def wiki_reader(request: Request) -> WikiReader:
    """The read service of the wiki."""
    return WikiReader(request.databases.raw_queries)


def _markdown_response(body: bytes) -> Response:
    """A public Markdown response."""
    return public_json(body, "text/markdown; charset=utf-8")


@api(
    context=IWiki,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="list_wiki_pages", about="The pages of the developer wiki.", returns=PagesDocument, clauses=("C-WIKI-6",)
    ),
)
def list_pages_view(_context: Any, request: Request) -> Response:
    """``GET /Modhub/api/wiki``"""
    pages = wiki_reader(request).pages()
    return public_json(encode(PagesDocument(len(pages), pages)))


@api(
    context=IWikiPage,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_wiki_page",
        about="The Markdown of a page.",
        returns=MARKDOWN,
        refusals=(NO_PAGE,),
        clauses=("C-WIKI-6",),
    ),
)
def read_page_view(context: WikiPageResource, request: Request) -> Response:
    """``GET /Modhub/api/wiki/{path}``"""
    source = found(wiki_reader(request).source(context.path))
    return _markdown_response(source.encode())


@api(
    context=IDocuments,
    name="wiki",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_wiki_contract", about="How pages of the wiki are written.", returns=MARKDOWN, clauses=("C-WIKI-10",)
    ),
)
def read_contract_view(_context: Any, _request: Request) -> Response:
    """``GET /api/modhub/doc/wiki`` (C-WIKI-10)"""
    return _markdown_response(CONTRACT)
