"""The response for a stored file: ranges, conditions, file name, and headers that keep it from doing harm.

Owners choose the content and the content type, and the files come from our own origin (T-A1, T-A2, T-A5). So every
response is sandboxed, never sniffed, and useless to our own pages as script, style or worker.
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

from modhub.base.errors import ApiError
from modhub.blobs.store import COPY_BYTES, BlobStore, RemoteFile, ServedByProxy
from modhub.web.conditions import Outcome, Validators, evaluate
from modhub.web.headers import EXPOSED

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
"""On errors too: a page of another site may read why it got no file."""
_PRIVATE_HEADERS = {"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Cookie, Sec-Fetch-Dest, Sec-Fetch-Site"}
"""For a file that only its owner may see: pages of other origins learn nothing, not even its size."""

REVALIDATE: Final = "no-cache"
A_DAY: Final = "public, max-age=86400"
IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""Values of ``Cache-Control``: revalidate each time, for a day, or forever (the address never changes)."""

_CONDITIONS = frozenset(
    f"HTTP_{name}"
    for name in ("RANGE", "IF_RANGE", "IF_MATCH", "IF_NONE_MATCH", "IF_MODIFIED_SINCE", "IF_UNMODIFIED_SINCE")
)
_SEPARATORS = re.compile(r"[/\\]")
_DROPPED = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line separators, marks and overrides of the writing direction, lone surrogates."""

_ATTR_CHARS = "!#$&+-.^_`|~"
"""The characters that RFC 8187 allows unencoded in an extended value, besides letters and digits."""


@dataclass(frozen=True)
class StoredFile:
    """A file as its row describes it.

    ``key``, ``size`` (bytes) and ``sha256`` identify the blob, ``name`` is the download name, ``content_type`` is sent
    as it is, ``modified`` is timezone-aware, ``inline`` is whether a browser may display it, ``cache_control`` is the
    whole value of that header. ``private``: the response depends on the caller, so no other site may use it.
    ``moving``: the address may lead to an older file later, so a date matches only if it is exactly this one's.
    ``negotiated``: ``Accept`` has chosen it among others of this address.
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
    negotiated: bool = False

    @property
    def cross_origin_headers(self) -> dict[str, str]:
        """The headers that say which sites may use the file; errors have them too."""
        headers = _PRIVATE_HEADERS if self.private else _OPEN_HEADERS
        return {**headers, "Vary": f"Accept, {headers['Vary']}"} if self.negotiated else headers

    def __post_init__(self) -> None:
        if self.modified.tzinfo is None:
            raise ValueError("the time of a file needs a time zone")


class _Slice:
    """The body if the server has no file wrapper: the next ``size`` bytes of the file; closes it (PEP 3333)."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._remaining = size

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._file.read(min(COPY_BYTES, self._remaining)):
            self._remaining -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()


def file_response(request: Request, store: BlobStore, file: StoredFile) -> Response:
    """Respond to a GET or HEAD with the file, a range of it, or 304 (C-FILE-1, C-FILE-8, C-APP-7).

    Errors: 403 ``not_for_embedding``, 412 ``precondition_failed``, 416 ``range_not_satisfiable``, 503
    ``storage_unreachable``. The body goes through the server's ``wsgi.file_wrapper`` if there is one, so that a slow
    reader holds no thread. The file is open from here on, so a replacement or deletion does not affect it.
    """
    cross_origin_headers = file.cross_origin_headers
    _refuse_embedding(request, cross_origin_headers)
    validators = Validators(f'"{file.sha256}"', file.modified, file.moving or file.negotiated)
    outcome = evaluate(request.method, request.headers, validators, file.size)
    if outcome.status is HTTPStatus.PRECONDITION_FAILED:
        raise ApiError(412, "precondition_failed", "This is not the file you asked for.", headers=cross_origin_headers)
    if outcome.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        headers = {**cross_origin_headers, "Accept-Ranges": "bytes", "Content-Range": f"bytes */{file.size}"}
        raise ApiError(416, "range_not_satisfiable", f"The file has {file.size} bytes; none of those.", headers=headers)
    # A Last-Modified in the future is forbidden (RFC 9110, 8.8.2.1); clocks may jump.
    headers = _headers(file, outcome, min(file.modified, datetime.now(UTC)))
    body = () if outcome.status is HTTPStatus.NOT_MODIFIED else _body(request, store, file, outcome)
    if body and (address := _internal_address(request, store, file)):
        # The file was opened and found intact. Now the proxy opens it, and adds its length and Accept-Ranges.
        body.close()
        del headers["Accept-Ranges"]
        headers |= {"X-Accel-Redirect": address, "Content-Length": "0"}
        body = ()
    status = f"{outcome.status.value} {outcome.status.phrase}"
    # As a header list: otherwise WebOb would add a charset to the content type.
    return Response(status=status, headerlist=list(headers.items()), app_iter=body)


def _internal_address(request: Request, store: BlobStore, file: StoredFile) -> str | None:
    """The address at which the proxy has the file, if it may send it (``modhub.accel_redirect``).

    Only a whole public file without a condition: the proxy would judge conditions and ranges by its own validators,
    and it opens the file later than we do. If the file has gone by then, the proxy asks the service again.
    """
    if file.private or not isinstance(store, ServedByProxy) or not _CONDITIONS.isdisjoint(request.environ):
        return None
    return store.internal_address(file.key)


def content_disposition(name: str, *, inline: bool) -> str:
    """The header for a download name (RFC 6266, 8187): ``filename`` in ASCII, and ``filename*`` if that is not enough.

    Whatever the name contains, the value is printable ASCII: control characters and direction overrides are removed,
    path separators become ``_``. Names have at most 255 characters (C-FILE-5); the rest is cut.
    """
    cleaned = _SEPARATORS.sub("_", _DROPPED.sub("", name))
    cleaned = cleaned.strip()[:255]
    if cleaned in {"", ".", ".."}:
        cleaned = "file"
    ascii_name = cleaned if cleaned.isascii() else "".join(map(_to_ascii, cleaned)).strip() or "file"
    disposition = "inline" if inline else "attachment"
    escaped = ascii_name.replace('"', '\\"')
    header = f'{disposition}; filename="{escaped}"'
    # Some clients decode %41 in the plain form, and some stop at an escaped quote.
    if ascii_name != cleaned or "%" in cleaned or '"' in cleaned:
        header += f"; filename*=UTF-8''{quote(cleaned, safe=_ATTR_CHARS)}"
    return header


def _to_ascii(character: str) -> str:
    """ASCII for one character: itself, its letter without the accent, nothing for a lone accent, else ``_``."""
    letters = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
    fits = letters.isascii() and letters.isprintable()
    return _SEPARATORS.sub("_", letters) if fits else "_"


def _refuse_embedding(request: Request, cross_origin_headers: dict[str, str]) -> None:
    """403 if our own pages would run the file (C-FILE-1, T-A2); overlays elsewhere may."""
    headers = request.headers
    is_own_site = headers.get("Sec-Fetch-Site", "").strip().lower() in {"same-origin", "same-site"}
    executing = headers.get("Sec-Fetch-Dest", "").strip().lower() in _EXECUTING
    if (is_own_site and executing) or headers.get("Service-Worker", "").strip().lower() == "script":
        message = "Uploaded files are not for use as script, style or worker on this site."
        raise ApiError(403, "not_for_embedding", message, headers=cross_origin_headers)


def _headers(file: StoredFile, outcome: Outcome, modified: datetime) -> dict[str, str]:
    """The headers of the response; on 304 only those that RFC 9110, 15.4.5 requires and the protective ones."""
    headers = {
        "ETag": f'"{file.sha256}"',
        "Cache-Control": file.cache_control,
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _POLICY,
        **file.cross_origin_headers,
    }
    if outcome.status is HTTPStatus.NOT_MODIFIED:
        return headers
    headers |= {
        "Content-Type": _header_safe(file.content_type),
        "Content-Length": str(outcome.stop - outcome.start),
        "Content-Disposition": content_disposition(file.name, inline=file.inline),
        "Last-Modified": formatdate(modified.timestamp(), usegmt=True),
        "Accept-Ranges": "bytes",
        # Of the whole file, for a range too (RFC 9530, 3): a client checks the file that it has assembled.
        "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(file.sha256)).decode()}:",
    }
    if outcome.status is HTTPStatus.PARTIAL_CONTENT:
        headers["Content-Range"] = f"bytes {outcome.start}-{outcome.stop - 1}/{file.size}"
    return headers


def _header_safe(content_type: str) -> str:
    """The stored type; one that is not valid in a header, should a row contain it, is sent as plain bytes."""
    fits = content_type.isascii() and content_type.isprintable() and content_type.strip()
    return content_type if fits else "application/octet-stream"


def _body(request: Request, store: BlobStore, file: StoredFile, outcome: Outcome) -> Any:
    """The bytes to send. For HEAD the file is opened and closed, so that it returns 503 whenever GET does."""
    opened = store.open(file.key, file.size, file.sha256)
    try:
        if request.method == "HEAD":
            opened.close()
            return ()
        if isinstance(opened, RemoteFile):
            with opened:
                opened = opened.fetch(outcome.start, outcome.stop)
        else:
            opened.seek(outcome.start)
        wrapper = request.environ.get("wsgi.file_wrapper")
        # A server's wrapper sends from the position to the end of Content-Length (PEP 3333).
        return _Slice(opened, outcome.stop - outcome.start) if wrapper is None else wrapper(opened, COPY_BYTES)
    except BaseException:
        opened.close()
        raise
