"""One way to answer a read: its validator, 304, compression, and the copy that is kept in memory.

The outermost tween of the core. A view with the option ``response_cache`` has the same response for everybody,
determined by its address and by what raises the serial of :mod:`modhub.db.changes`; that is kept
(ADR 022). Responses for one caller pass unchanged.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from modhub.base.errors import ApiError
from modhub.base.request_ids import REQUEST_ID
from modhub.base.service_registry import find_service
from modhub.content.limits import MB
from modhub.db.changes import ChangeReader
from modhub.web.compression import accepts_gzip, compress, is_for_everybody
from modhub.web.error_views import render_error
from modhub.web.headers import NONCE, HeaderRules, headers_of_304
from modhub.web.large_responses import LARGE, file_body, write_body
from modhub.web.request import Request
from modhub.web.responses import PublicResponse

_SAFE_READS: Final = frozenset({"GET", "HEAD"})
RESPONSE_BYTES: Final = 32 * MB
"""Bytes of the kept responses of one application."""
_MAX_SHARE: Final = 8
"""A response larger than the budget divided by this is not kept: it would evict all others."""
_OVERHEAD: Final = 4_000
"""Bytes of a kept response besides its key and body: mostly its headers."""
_VARY: Final = "Accept-Encoding"
"""The one request header that a kept response may depend on: it is a part of the key."""

Key = tuple[str, str, str, bool]
_View = Callable[[Any, Any], Any]


class KeptResponse(NamedTuple):
    """A complete response with status 200."""

    headers: list[tuple[str, str]]
    headers_of_304: list[tuple[str, str]]
    etag: str
    body: bytes
    resource_type: type

    def respond(self, request: Request, rules: HeaderRules) -> Response:
        """The response to another request."""
        request.resource_type = self.resource_type
        own = ("X-Request-Id", request.environ[REQUEST_ID])
        named = request.known_etag(self.etag)
        if named is not None:
            return not_modified(named, [*self.headers_of_304, own])
        return large_as_file(request, Response(headerlist=[*self.headers, own], app_iter=[self.body]), rules)


def key_of(environ: dict[str, Any]) -> Key | None:
    """The key of a request: its address, and whether gzip is accepted. None for a method that may write."""
    if environ["REQUEST_METHOD"] not in _SAFE_READS:
        return None
    return (
        environ.get("SCRIPT_NAME", ""),
        environ.get("PATH_INFO", ""),
        environ.get("QUERY_STRING", ""),
        accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")),
    )


class _Entry(NamedTuple):
    response: KeptResponse
    size: int
    stamp: Hashable


class ResponseCache:
    """The kept responses of one application, at most ``budget`` bytes; the least recently used are evicted first.

    For any thread. ``read_stamp`` returns what is equal as long as everybody sees the same (`ChangeReader.generation`).
    """

    def __init__(self, read_stamp: Callable[[], Hashable], budget: int = RESPONSE_BYTES) -> None:
        self.read_stamp = read_stamp
        self.budget = self._free = budget
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    @property
    def used(self) -> int:
        """Bytes of all entries."""
        return self.budget - self._free

    def find(self, key: Key, stamp: Hashable) -> KeptResponse | None:
        """Return the response if it was put with the same ``stamp``, None if there is none."""
        entry = self._entries.get(key)
        if entry is None or entry.stamp != stamp:
            return None
        with self._lock:
            if key in self._entries:  # not evicted in the meantime
                self._entries.move_to_end(key)
        return entry.response

    def put(self, key: Key, response: KeptResponse, size: int, stamp: Hashable) -> None:
        """Keep a response that was not found; it replaces another of the same key.

        ``size`` is what the entry takes, in bytes, with its key. ``stamp`` says what the response was made from: to be
        read before that, so that one which a change overtakes is not found afterwards.
        """
        if size > self.budget // _MAX_SHARE:
            return
        with self._lock:
            replaced = self._entries.pop(key, None)
            self._free -= size - (0 if replaced is None else replaced.size)
            self._entries[key] = _Entry(response, size, stamp)
            while self._free < 0:
                self._free += self._entries.popitem(last=False)[1].size


def find_kept(cache: ResponseCache, key: Key, request: Request) -> KeptResponse | None:
    """The response if nothing has changed since it was made; asks the database (one short statement)."""
    if key not in cache:
        return None
    try:
        request.stamp = cache.read_stamp()
    except Exception:  # noqa: BLE001 - the database fails: the view will, too, and the error gets its response
        return None
    return cache.find(key, request.stamp)


def keep(cache: ResponseCache, key: Key, request: Request, response: Response) -> None:
    """Keep the response of a view with the option ``response_cache``.

    Never one with a cookie, or one that says that it depends on the reader.
    """
    if request.keep_under is None or response.status_int != 200 or not isinstance(response.app_iter, list):
        return
    present = response.headers
    if "ETag" not in present or "Set-Cookie" in present or present.get("Vary", _VARY) != _VARY:
        return
    headers = [pair for pair in response.headerlist if pair[0] != "X-Request-Id"]
    kept = KeptResponse(headers, headers_of_304(headers), present["ETag"], response.body, request.resource_type)
    cache.put(key, kept, len(kept.body) + sum(map(len, key[:3])) + _OVERHEAD, request.keep_under)


def add_validator(request: Request, response: Response) -> None:
    """Add an ``ETag`` to a public response without one: strong for the bytes of a program's, weak for a page.

    A page's covers the body without its nonce, which is another in each response. The body has all that depends on the
    reader: the language, and what cookies choose.
    """
    if response.status_int != 200 or request.method not in _SAFE_READS or "ETag" in response.headers:
        return
    if isinstance(response, PublicResponse):
        response.headers["ETag"] = f'"{hashlib.sha256(response.body).hexdigest()}"'
    elif response.content_type == "text/html" and is_for_everybody(request, response):
        nonce = request.environ.get(NONCE, "").encode()
        body = response.body.replace(nonce, b"") if nonce else response.body
        response.headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'


def not_modified(etag: str, headers: list[tuple[str, str]]) -> Response:
    """The 304 with these `headers_of_304`."""
    return Response(status=304, headerlist=[("ETag", etag), *headers], app_iter=())


def _etag_to_compare(request: Request, response: Response) -> str | None:
    """Of a response that may become a 304; of others None.

    Stored files have evaluated all conditions themselves (`downloads`): if they are sent, none names them.
    """
    is_read = response.status_int == 200 and request.method in _SAFE_READS
    return response.headers.get("ETag") if is_read else None


def large_as_file(request: Request, response: Response, rules: HeaderRules) -> Response:
    """The response, a large body in a file; 503 ``busy`` if there is no room for it (T-D20).

    What was written is never answered as if it was not.
    """
    body = response.app_iter
    size = sum(map(len, body)) if isinstance(body, list) else 0
    if size <= LARGE or request.method != "GET":
        return response
    try:
        file, _ = write_body(request.environ, body, size, compressed=False)
    except ApiError as error:
        refusal = render_error(error, request)
        rules.finish(request, refusal)
        return refusal
    response.app_iter = file_body(request.environ, file)
    return response


def public_reads_tween_factory(handler: Callable[[Request], Any], registry: Any) -> Callable[[Request], Any]:
    """Return the tween, for Pyramid."""
    cache, rules = find_service(registry, ResponseCache), HeaderRules(registry)

    def public_reads_tween(request: Request) -> Any:
        key = key_of(request.environ)
        kept = None if key is None else find_kept(cache, key, request)
        if kept is not None:
            return kept.respond(request, rules)
        response = handler(request)
        add_validator(request, response)
        compress(request, response)
        if key is not None:
            keep(cache, key, request, response)
        etag = _etag_to_compare(request, response)
        named = None if etag is None else request.known_etag(etag)
        if named is not None:
            return not_modified(named, headers_of_304(response.headerlist))
        return large_as_file(request, response, rules)

    return public_reads_tween


def response_cache_deriver(view: _View, info: Any) -> _View:
    """``response_cache=True``, or a function of the request that says whether this response may be kept."""
    option = info.options.get("response_cache")
    if not option:
        return view
    if info.options.get("permission") != NO_PERMISSION_REQUIRED:
        raise ConfigurationError("response_cache is only for views with the permission OPEN")
    registry = info.registry

    def kept_view(context: Any, request: Request) -> Any:
        if option is True or option(request):
            # Before the content: a response that is newer than its stamp is only made again too early.
            request.keep_under = request.stamp or find_service(registry, ResponseCache).read_stamp()
        return view(context, request)

    return kept_view


response_cache_deriver.options = ("response_cache",)  # type: ignore[attr-defined]


def includeme(config: Configurator) -> None:
    """Add the cache, the tween, and the view option."""
    config.add_service(ResponseCache, ResponseCache(find_service(config.registry, ChangeReader).generation))
    config.add_tween("modhub.web.public_reads.public_reads_tween_factory")
    config.add_view_deriver(response_cache_deriver)
