"""Responses in memory, valid until something changes that everybody can see (docs/adr/024-response-cache.md).

A view with the option ``response_cache`` has the same response for everybody, determined by its address and by what
raises the serial of :mod:`modhub.changes`. Such responses are sent again without Pyramid, from the execution policy.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from modhub.byte_cache import ByteCache, add_cache_metrics
from modhub.changes import ChangeReader
from modhub.http.compression import accepts_gzip, compressed_etag, identity_etag
from modhub.http.conditions import if_none_match_names
from modhub.http.headers import headers_of_304
from modhub.http.request_ids import REQUEST_ID
from modhub.metrics import COUNT_RESEND, CountResend
from modhub.service_registry import find_optional_service, find_service

_MAX_SHARE: Final = 8
"""A response larger than the budget divided by this is not cached."""
_OVERHEAD: Final = 4_000
"""Bytes of an entry besides its key and body: mostly its headers."""
_SAFE_READS: Final = frozenset({"GET", "HEAD"})
_VARY: Final = "Accept-Encoding"
"""The one request header that a cached response may depend on: it is a part of the key."""
_IF_NONE_MATCH: Final = "HTTP_IF_NONE_MATCH"

_Generation = Hashable
Key = tuple[str, str, str, bool]
_Sent = tuple[str, list[tuple[str, str]], Iterable[bytes]]
_View = Callable[[Any, Any], Any]


class CachedResponse:
    """A complete response with status 200."""

    __slots__ = ("_body", "_headers", "_not_modified", "count")

    def __init__(self, headers: list[tuple[str, str]], etag: str, body: bytes, count: CountResend | None) -> None:
        self._headers = headers
        # Whatever this caller accepts, what it has is the same in either coding.
        identity = identity_etag(etag)
        self._not_modified = {tag: headers_of_304(headers, tag) for tag in (identity, compressed_etag(identity))}
        self._body = body
        self.count = count

    def to_wsgi(self, environ: dict[str, Any]) -> _Sent:
        """Return status, headers and body for this request: 304 if the caller has it already."""
        if_none_match = environ.get(_IF_NONE_MATCH)
        request_id = ("X-Request-Id", environ[REQUEST_ID])
        if if_none_match is not None and (headers := self._headers_of_304(if_none_match)) is not None:
            return "304 Not Modified", [*headers, request_id], ()
        body = () if environ["REQUEST_METHOD"] == "HEAD" else (self._body,)
        return "200 OK", [*self._headers, request_id], body

    def _headers_of_304(self, if_none_match: str) -> list[tuple[str, str]] | None:
        if if_none_match in self._not_modified:  # nearly always: the tag that was sent
            return self._not_modified[if_none_match]
        named = (headers for etag, headers in self._not_modified.items() if if_none_match_names(if_none_match, etag))
        return next(named, None)


class ResponseCache:
    """The cached responses of one application, at most ``budget`` bytes."""

    def __init__(self, read_generation: Callable[[], _Generation], budget: int) -> None:
        self.read_generation = read_generation
        self.responses: ByteCache[CachedResponse] = ByteCache(budget, _MAX_SHARE)

    @staticmethod
    def key_of(environ: dict[str, Any]) -> Key | None:
        """Return the key of a request: its address, and whether gzip is accepted. None for a method that may write."""
        if environ["REQUEST_METHOD"] not in _SAFE_READS:
            return None
        return (
            environ.get("SCRIPT_NAME", ""),
            environ.get("PATH_INFO", ""),
            environ.get("QUERY_STRING", ""),
            accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")),
        )

    def find(self, key: Key) -> CachedResponse | None:
        """Return the response if nothing has changed since it was read; asks the database (one short statement)."""
        if key not in self.responses:
            return None
        return self.responses.find(key, self.read_generation())

    def add(self, key: Key, response: Response) -> CachedResponse | None:
        """Cache the response of a view with the option ``response_cache``, and return it; None for any other.

        Never one with a cookie, or one that says that it depends on the reader.
        """
        generation = getattr(response, "cache_generation", None)
        if generation is None or response.status_int != 200:
            return None
        present = response.headers
        if "ETag" not in present or "Set-Cookie" in present or present.get("Vary", _VARY) != _VARY:
            return None
        headers = [pair for pair in response.headerlist if pair[0] != "X-Request-Id"]
        body = response.body
        cached = CachedResponse(headers, response.headers["ETag"], body, getattr(response, COUNT_RESEND, None))
        self.responses.put(key, cached, len(body) + sum(map(len, key[:3])) + _OVERHEAD, generation)
        return cached


def response_cache_deriver(view: _View, info: Any) -> _View:
    """``response_cache=True``, or a function of the request that says whether this response may be cached."""
    option = info.options.get("response_cache")
    if not option:
        return view
    if info.options.get("permission") != NO_PERMISSION_REQUIRED:
        raise ConfigurationError("response_cache is only for views with the permission OPEN")

    def cached_view(context: Any, request: Any) -> Any:
        cache = find_optional_service(request.registry, ResponseCache)
        if cache is None or not (option is True or option(request)):
            return view(context, request)
        generation = cache.read_generation()
        # The view makes the whole response; `CachedResponse` looks at the condition.
        if_none_match = request.environ.pop(_IF_NONE_MATCH, None)
        try:
            response = view(context, request)
        finally:
            if if_none_match is not None:
                request.environ[_IF_NONE_MATCH] = if_none_match
        response.cache_generation = generation
        return response

    return cached_view


response_cache_deriver.options = ("response_cache",)  # type: ignore[attr-defined]


def includeme(config: Configurator) -> None:
    """Add the cache, unless ``modhub.response_cache_bytes`` is 0, and the view option."""
    budget = config.registry.settings["modhub.response_cache_bytes"]
    changes = find_service(config.registry, ChangeReader)
    if budget:
        config.add_service(ResponseCache, ResponseCache(changes.stamp, budget))
        add_cache_metrics(config, "responses", lambda registry: find_service(registry, ResponseCache).responses)
    config.add_view_deriver(response_cache_deriver)
