"""Validators of public pages: a reader who has the page already gets a short 304.

The validator is weak and covers the body without its nonce, which is another in each response. The body has all that
depends on the reader: the language, and what cookies choose.
"""

import hashlib
from typing import Any

from pyramid.response import Response

from modhub.http.compression import add_vary, is_for_everybody
from modhub.http.conditions import if_none_match_names
from modhub.http.headers import NONCE, PAGE_VARY
from modhub.request import Request


def revalidate_page(request: Request, response: Any) -> Any:
    """Add an ``ETag`` to a public page, or return 304 if the reader has it; any other response is unchanged."""
    if not _is_public_page(request, response):
        return response
    nonce = request.environ.get(NONCE, "").encode()
    body = response.body.replace(nonce, b"") if nonce else response.body
    tag = f'"{hashlib.sha256(body).hexdigest()}"'
    response.headers["ETag"] = f"W/{tag}"
    condition = request.environ.get("HTTP_IF_NONE_MATCH")
    if condition is None or not if_none_match_names(condition, tag):
        return response
    not_modified = Response(status=304, headerlist=[("ETag", f"W/{tag}")], app_iter=())
    not_modified.headers["Vary"] = response.headers.get("Vary", PAGE_VARY)
    add_vary(not_modified, "Accept-Encoding")
    return not_modified


def _is_public_page(request: Request, response: Any) -> bool:
    is_page = response.status_int == 200 and response.content_type == "text/html" and "ETag" not in response.headers
    return is_page and request.method in {"GET", "HEAD"} and is_for_everybody(request, response)
