"""The headers that each kind of route must carry (T-H1).

A view sets what is specific to its response; the rest is filled in here by the kind of address.
"""

from collections.abc import Iterable
from typing import Any, Final

from modhub.base.request_ids import REQUEST_ID
from modhub.plugins.declarations import Declarations
from modhub.web.own_cookies import is_https
from modhub.web.request import Request, normalize_slashes

EXPOSED: Final = (
    "ETag, Last-Modified, Accept-Ranges, Content-Range, Content-Disposition, Repr-Digest, Link, Retry-After, "
    "WWW-Authenticate, Allow, X-Request-Id"
)
"""Response headers that pages of other sites may read."""
_NOT_IN_304: Final = frozenset(
    {
        "access-control-expose-headers",
        "content-encoding",
        "content-length",
        "content-security-policy",
        "content-type",
        "etag",
        "link",
    }
)
ALLOWED_HEADERS: Final = (
    "Authorization, Content-Type, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, Idempotency-Key"
)
"""Request headers that pages of other sites may send. Never cookies, never a machine key."""
API_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
PAGE_POLICY: Final = (
    "default-src 'none'; script-src {source}; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
NONCE: Final = "modhub.nonce"
"""The environ key of the page's nonce, if a template has asked for one."""
PAGE_VARY: Final = "Cookie, Accept-Language"
"""What a page shows depends on who is signed in and on the reader's language."""
HAS_TOKEN: Final = "modhub.has_token"  # noqa: S105 - not the token
"""The environ key of a page with a form's token, which must not be compressed."""
Pairs = tuple[tuple[str, str], ...]


def headers_of_304(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of the 304 for a 200 of JSON or of a feed, besides its ``ETag``.

    Programs that follow the catalogue get hardly anything else all day, so they are few. What is omitted stays in a
    cache as the 200 had it (RFC 9111, 3.2).
    """
    return [(name, value) for name, value in headers if name.lower() not in _NOT_IN_304]


class HeaderRules:
    """Adds the default headers to responses; one for each application."""

    PREFLIGHT: Final[Pairs] = (
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE"),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS),
        ("Access-Control-Max-Age", "7200"),
    )

    def __init__(self, registry: Any) -> None:
        common: Pairs = (
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "strict-origin-when-cross-origin"),
        )
        hsts = ("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
        self.transport: Pairs = (hsts,) if is_https(registry) else ()
        """Also sent with the server's own responses, which the application never sees."""
        common += self.transport
        self.api: Pairs = (
            *common,
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Content-Security-Policy", API_POLICY),
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Expose-Headers", EXPOSED),
            ("Cache-Control", "no-store"),
        )
        self.open: Pairs = (
            ("Cross-Origin-Resource-Policy", "cross-origin"),
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Expose-Headers", EXPOSED),
        )
        self.site: Pairs = (
            *common,
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Frame-Options", "DENY"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-cache"),
        )

    def is_preflight(self, request: Request) -> bool:
        """Whether a browser asks if a page of another site may call: the API and public files, without credentials."""
        environ = request.environ
        is_cors_check = environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        return is_cors_check and (request.is_api or is_open(request))

    def finish(self, request: Request, response: Any) -> None:
        """Add each default header for the address's kind that ``response`` lacks, and the request id."""
        present = {name.lower() for name, _ in response.headerlist}
        if response.status_int == 304:
            # What a cache has kept has a policy of its own: another one would forbid the scripts of a page.
            present |= {"content-security-policy", "access-control-expose-headers"}
        defaults = self.api if request.is_api else (*self.site, *page_headers(request, response))
        if not request.is_api and is_open(request):
            # On errors too: a page of another site should read the error, not see a network failure.
            response.headerlist.extend(pair for pair in self.open if pair[0].lower() not in present)
            present.add("cross-origin-resource-policy")
        response.headerlist.extend(pair for pair in defaults if pair[0].lower() not in present)
        response.headerlist.append(("X-Request-Id", request.environ[REQUEST_ID]))


def is_open(request: Request) -> bool:
    """Whether pages of other sites may read this address outside of the API (``config.add_cross_origin``)."""
    path = normalize_slashes(request.environ.get("PATH_INFO", ""))
    return any(pattern.fullmatch(path) for pattern in request.find_service(Declarations).cross_origin)


def page_headers(request: Request, response: Any) -> Pairs:
    """The headers that depend on the page: scripts run by its nonce only, never by ``'self'``.

    A page without a script has no nonce, so that error pages are identical for everything that does not exist. Style
    sheets need none, since our files cannot be used as one (:mod:`modhub.web.downloads`).
    """
    nonce = request.environ.get(NONCE)
    policy = PAGE_POLICY.format(source=f"'nonce-{nonce}'" if nonce else "'none'")
    pairs: Pairs = (("Content-Security-Policy", policy),)
    if response.content_type == "text/html":
        pairs += (("Vary", PAGE_VARY),)
    return pairs
