"""The answer that gives out a stored file: ranges, conditions, name, and the headers that keep it from doing harm.

Owners choose the content and the content type, and the files come from our own origin (T-A1, T-A2, T-A5). So every
answer is sandboxed, is never guessed at, and is of no use to our own pages as script, style or worker.
"""

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, BinaryIO, Final
from urllib.parse import quote

from pyramid.request import Request
from pyramid.response import Response

from modhub.blobs.store import COPY_BYTES, BlobStore
from modhub.errors import ApiError
from modhub.http.conditions import Outcome, Validators, evaluate
from modhub.http.headers import EXPOSED

_EXECUTING = frozenset(
    ["script", "style", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "xslt"]
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
_OPEN_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": EXPOSED,
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Vary": "Sec-Fetch-Dest, Sec-Fetch-Site",
}
"""On refusals too: a page elsewhere may read why it got no file."""
_PRIVATE_HEADERS = {"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Cookie, Sec-Fetch-Dest, Sec-Fetch-Site"}
"""Of a file that only its owner may see: no page elsewhere, on this host neither, learns even its measures."""

REVALIDATE: Final = "no-cache"
A_DAY: Final = "public, max-age=86400"
FOR_EVER: Final = "public, max-age=31536000, immutable"
"""How long a file may be kept elsewhere: asked for each time, for a day, for ever (its address never changes)."""

_SEPARATORS = re.compile(r"[/\\]")
_DROPPED = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, overrides and marks of the writing direction, lone surrogates."""

_ATTR_CHARS = "!#$&+-.^_`|~"
"""What RFC 8187 leaves unencoded in an extended value besides letters and digits."""


@dataclass(frozen=True)
class StoredFile:
    """A file as its row describes it.

    ``key``, ``size`` (bytes) and ``sha256`` name the blob, ``name`` is the one to save it under, ``content_type`` is
    sent as it is, ``modified`` knows its time zone, ``inline`` is whether a browser may show it, ``cache_control`` the
    whole value of that header. ``private``: the answer depends on who asks, so that no other site may use it.
    ``moving``: the address may lead to an older file later, so that a date says something only when it is this one's.
    """

    key: str
    size: int
    sha256: str
    name: str
    content_type: str
    modified: datetime
    inline: bool
    cache_control: str
    private: bool = False
    moving: bool = False

    @property
    def site_headers(self) -> dict[str, str]:
        """The headers that say to pages of which sites the file is open; a refusal has them too."""
        return _PRIVATE_HEADERS if self.private else _OPEN_HEADERS

    def __post_init__(self) -> None:
        if self.modified.tzinfo is None:
            raise ValueError("the time of a file needs its time zone")


class _Slice:
    """The body without a server's own file wrapper: ``size`` bytes from where the file stands; closes it (PEP 3333)."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._file.read(min(COPY_BYTES, self._left)):
            self._left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()


def file_response(request: Request, store: BlobStore, file: StoredFile) -> Response:
    """Answer a GET or HEAD with the file, a part of it, or 304 (C-FILE-1, C-FILE-8, C-APP-7).

    Refusals: 403 ``not_for_embedding``, 412 ``precondition_failed``, 416 ``range_not_satisfiable``, 503
    ``storage_unreachable``. The body goes through the server's ``wsgi.file_wrapper`` when there is one, so that a slow
    reader holds no thread; the file is open from here on, so that a replacement or deletion leaves it whole.
    """
    open_to = file.site_headers
    _refuse_embedding(request, open_to)
    known = Validators(f'"{file.sha256}"', file.modified, file.moving)
    outcome = evaluate(request.method, request.headers, known, file.size)
    if outcome.status is HTTPStatus.PRECONDITION_FAILED:
        raise ApiError(412, "precondition_failed", "The file is not the one you named.", headers=open_to)
    if outcome.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        headers = {**open_to, "Accept-Ranges": "bytes", "Content-Range": f"bytes */{file.size}"}
        raise ApiError(416, "range_not_satisfiable", f"The file has {file.size} bytes; none of those.", headers=headers)
    # A Last-Modified in the future is forbidden (RFC 9110, 8.8.2.1); clocks do jump.
    headers = _headers(file, outcome, min(file.modified, datetime.now(UTC)))
    body = () if outcome.status is HTTPStatus.NOT_MODIFIED else _body(request, store, file, outcome)
    status = f"{outcome.status.value} {outcome.status.phrase}"
    # A given header list stays as it is: webob adds a charset to the content type otherwise.
    return Response(status=status, headerlist=list(headers.items()), app_iter=body)


def content_disposition(name: str, *, inline: bool) -> str:
    """The header for a download name (RFC 6266, 8187): ``filename`` in ASCII, and ``filename*`` where that falls short.

    Whatever the name holds, the value is printable ASCII: control characters and overrides of the writing direction go,
    a separator of folders becomes ``_``. Names have at most 255 characters (C-FILE-5); the rest is cut.
    """
    safe = _SEPARATORS.sub("_", _DROPPED.sub("", name))
    safe = safe.strip()[:255]
    if safe in {"", ".", ".."}:
        safe = "file"
    plain = safe if safe.isascii() else "".join(map(_plain, safe)).strip() or "file"
    kind = "inline" if inline else "attachment"
    escaped = plain.replace('"', '\\"')
    header = f'{kind}; filename="{escaped}"'
    # Some readers decode %41 in the plain form, and some stop at an escaped quote.
    if plain != safe or "%" in safe or '"' in safe:
        header += f"; filename*=UTF-8''{quote(safe, safe=_ATTR_CHARS)}"
    return header


def _plain(character: str) -> str:
    """ASCII for one character: itself, its letter without the accent, nothing for a lone accent, else ``_``."""
    letters = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
    fits = letters.isascii() and letters.isprintable()
    return _SEPARATORS.sub("_", letters) if fits else "_"


def _refuse_embedding(request: Request, open_to: dict[str, str]) -> None:
    """403 when our own pages would run the file (C-FILE-1, T-A2); overlays elsewhere may."""
    headers = request.headers
    ours = headers.get("Sec-Fetch-Site", "").strip().lower() in {"same-origin", "same-site"}
    executing = headers.get("Sec-Fetch-Dest", "").strip().lower() in _EXECUTING
    if (ours and executing) or headers.get("Service-Worker", "").strip().lower() == "script":
        message = "Uploaded files are not for use as script, style or worker on this site."
        raise ApiError(403, "not_for_embedding", message, headers=open_to)


def _headers(file: StoredFile, outcome: Outcome, modified: datetime) -> dict[str, str]:
    """What goes with the bytes; on 304 only what RFC 9110, 15.4.5 asks for, and what guards a file in any case."""
    headers = {
        "ETag": f'"{file.sha256}"',
        "Cache-Control": file.cache_control,
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _POLICY,
        **file.site_headers,
    }
    if outcome.status is HTTPStatus.NOT_MODIFIED:
        return headers
    headers |= {
        "Content-Type": _header_safe(file.content_type),
        "Content-Length": str(outcome.stop - outcome.start),
        "Content-Disposition": content_disposition(file.name, inline=file.inline),
        "Last-Modified": formatdate(modified.timestamp(), usegmt=True),
        "Accept-Ranges": "bytes",
        # Of the whole representation, on a part as well (RFC 9530, 3): a client checks the file that it put together.
        "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(file.sha256)).decode()}:",
    }
    if outcome.status is HTTPStatus.PARTIAL_CONTENT:
        headers["Content-Range"] = f"bytes {outcome.start}-{outcome.stop - 1}/{file.size}"
    return headers


def _header_safe(content_type: str) -> str:
    """The stored type; one that no header can carry, should a row ever hold it, is sent as plain bytes."""
    fits = content_type.isascii() and content_type.isprintable() and content_type.strip()
    return content_type if fits else "application/octet-stream"


def _body(request: Request, store: BlobStore, file: StoredFile, outcome: Outcome) -> Any:
    """The bytes of the outcome. For HEAD the file is opened too, so that it answers 503 where GET does, and closed."""
    opened = store.open(file.key, file.size, file.sha256)
    try:
        if request.method == "HEAD":
            opened.close()
            return ()
        opened.seek(outcome.start)
        wrapper = request.environ.get("wsgi.file_wrapper")
        # A server's wrapper sends from the position to the end of Content-Length (PEP 3333).
        return _Slice(opened, outcome.stop - outcome.start) if wrapper is None else wrapper(opened, COPY_BYTES)
    except BaseException:
        opened.close()
        raise
