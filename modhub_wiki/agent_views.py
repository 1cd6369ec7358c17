"""Publishing with a machine key (C-WIKI-2). Pages are rendered before the transaction begins."""

import hashlib
import hmac
from typing import Final

from pyramid.response import Response

from modhub.base.errors import invalid
from modhub.content.text import scrub
from modhub.db import iso
from modhub.plugins.security import presented_key
from modhub.web.payload import query, read_text
from modhub.web.request import Request
from modhub.web.views import api
from modhub_wiki import limits, operations, services
from modhub_wiki.interfaces import IWikiPage
from modhub_wiki.models import MAX_AUTHOR
from modhub_wiki.resources import WikiPageResource, WikiPermission
from modhub_wiki.response_schemas import PageDocument, page_url

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
    operation=operations.PUBLISH_WIKI_PAGE,
)
def publish_page_view(context: WikiPageResource, request: Request) -> PageDocument:
    """``PUT`` and ``POST /Modhub/api/wiki/{path}``: 201 on creation, 200 on change."""
    path = require_path(context)
    draft = services.draft_page(path, read_markdown(request), query(request, "title"))
    page, created = services.publish_page(request.dbsession, draft, fingerprint(request))
    request.response.status_int = 201 if created else 200
    return PageDocument(page.path, page.title, page_url(page.path), page.revision, iso(page.updated_at))


@api(
    context=IWikiPage, request_method="DELETE", permission=WikiPermission.PUBLISH, operation=operations.REMOVE_WIKI_PAGE
)
def remove_page_view(context: WikiPageResource, request: Request) -> Response:
    """``DELETE /Modhub/api/wiki/{path}``: 204, or 404 if there is no such page."""
    services.remove_page(request.dbsession, require_path(context))
    return Response(status=204)
