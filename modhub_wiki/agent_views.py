"""Publishing, for programs with a machine key (C-WIKI-2). A page is rendered before the transaction has begun."""

import hashlib
import hmac
from typing import Final

from pyramid.response import Response

from modhub.db import iso
from modhub.errors import invalid
from modhub.payload import query, read_text
from modhub.request import Request
from modhub.security.credentials import presented_key
from modhub.text import scrub
from modhub.views import api
from modhub_wiki import limits, services
from modhub_wiki.interfaces import IWikiPage
from modhub_wiki.models import MAX_AUTHOR
from modhub_wiki.resources import WikiPageResource, WikiPermission
from modhub_wiki.response_schemas import PageDocument, page_url

_BAD_PATH: Final = (
    "The path must be words of letters, digits, '.', '_' and '-' that begin with a letter or a digit, "
    f"joined by '/', of at most {limits.PATH} characters."
)


def fingerprint(request: Request) -> str:
    """Who publishes: machine keys have no names, so a short fingerprint stands for the key in a page's history.

    It is no secret: keyed with ``modhub.secret``, so that nobody else can try keys against it. The same key has the
    same fingerprint as long as the first of the secrets stays.
    """
    secret = request.registry.settings["modhub.secret"][0]
    message = "wiki author: " + (presented_key(request) or "")
    return hmac.digest(secret.encode(), message.encode("utf-8", "surrogateescape"), hashlib.sha256).hex()[:MAX_AUTHOR]


def require_path(context: WikiPageResource) -> str:
    """The path of the page; 400 when what was sent cannot be one."""
    if context.path is None:
        raise invalid(_BAD_PATH)
    return context.path


def read_markdown(request: Request) -> str:
    """The Markdown that was sent, its lines ended by a newline; 400 when there is none or it is not UTF-8."""
    sent = read_text(request, limits.TEXT).replace("\r\n", "\n").replace("\r", "\n")
    source = scrub(sent)
    if not source.strip():
        raise invalid("The body is empty.")
    return source


@api(context=IWikiPage, request_method=("PUT", "POST"), permission=WikiPermission.PUBLISH)
def publish_page_view(context: WikiPageResource, request: Request) -> PageDocument:
    """``PUT`` and ``POST /Modhub/api/wiki/{path}``: 201 on creation, 200 on change."""
    path = require_path(context)
    given = services.draft_page(path, read_markdown(request), query(request, "title"))
    page, created = services.publish_page(request.dbsession, given, fingerprint(request))
    request.response.status_int = 201 if created else 200
    return PageDocument(page.path, page.title, page_url(page.path), page.revision, iso(page.updated_at))


@api(context=IWikiPage, request_method="DELETE", permission=WikiPermission.PUBLISH)
def remove_page_view(context: WikiPageResource, request: Request) -> Response:
    """``DELETE /Modhub/api/wiki/{path}``: 204, 404 when it is not there."""
    services.remove_page(request.dbsession, require_path(context))
    return Response(status=204)
