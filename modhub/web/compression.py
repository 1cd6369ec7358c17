"""Compression of responses (RFC 9110, 8.4): JSON, pages, feeds and static files, but never a stored file or a secret.

A length tells something about the content. So nothing is compressed that is for one caller only (``no-store``, a
cookie, a form's token): beside reflected input it could be guessed (BREACH, T-D18). Answers to questions that anybody
may ask by POST are not kept by caches, but have no secret: their views say so (``answers_anybody``).
"""

import gzip
from typing import Any, Final

from modhub.web.conditions import compressed_etag
from modhub.web.headers import HAS_TOKEN
from modhub.web.request import Request

MIN_BYTES: Final = 150
"""Smaller bodies hardly shrink."""
LEVEL: Final = 5
MAX_ACCEPTED: Final = 500
"""Characters that are read of an ``Accept-Encoding``."""
TYPES: Final = frozenset(
    {
        "application/atom+xml",
        "application/feed+json",
        "application/json",
        "application/manifest+json",
        "application/opensearchdescription+xml",
        "application/xml",
        "image/svg+xml",
        "text/css",
        "text/html",
        "text/javascript",
        "text/markdown",
        "text/plain",
    }
)
_OF_FILES: Final = ("accept-ranges", "content-range", "content-encoding", "repr-digest")
"""Headers of responses whose bytes must stay as they are."""


def accepts_gzip(header: str) -> bool:
    """Whether the value of an ``Accept-Encoding`` header allows gzip; unreadable parts are ignored.

    So is whatever comes after `MAX_ACCEPTED` characters: a header may have 64 KB.
    """
    allowed: dict[str, bool] = {}
    for entry in header[:MAX_ACCEPTED].lower().split(","):
        coding, _, parameters = entry.partition(";")
        name, _, weight = parameters.partition("=")
        is_refused = name.strip() == "q" and not weight.strip().strip("0.")
        allowed[coding.strip()] = not is_refused
    return allowed.get("gzip", allowed.get("x-gzip", allowed.get("*", False)))


def is_for_everybody(request: Request, response: Any) -> bool:
    """Whether a response has nothing that is meant for its caller alone."""
    headers = response.headers
    return not (
        request.environ.get(HAS_TOKEN) or "Set-Cookie" in headers or "no-store" in headers.get("Cache-Control", "")
    )


def compress(request: Request, response: Any) -> None:
    """Compress the body of ``response`` if the caller accepts that; its headers are complete."""
    if not _is_compressible(request, response):
        return
    add_vary(response, "Accept-Encoding")
    if not accepts_gzip(request.environ.get("HTTP_ACCEPT_ENCODING", "")):
        return
    body = response.body
    if len(body) < MIN_BYTES:
        return
    response.body = gzip.compress(body, LEVEL, mtime=0)
    response.headers["Content-Encoding"] = "gzip"
    if "ETag" in response.headers:
        response.headers["ETag"] = compressed_etag(response.headers["ETag"])


def _is_compressible(request: Request, response: Any) -> bool:
    present = {name.lower() for name, _ in response.headerlist}
    if not present.isdisjoint(_OF_FILES) or not isinstance(response.app_iter, list | tuple):
        return False
    if response.status_int != 200 or response.content_type not in TYPES:
        return False
    return request.answers_anybody or is_for_everybody(request, response)


def add_vary(response: Any, name: str) -> None:
    """Add a name to ``Vary``."""
    vary = response.headers.get("Vary", "")
    if name not in vary:
        response.headers["Vary"] = f"{vary}, {name}" if vary else name
