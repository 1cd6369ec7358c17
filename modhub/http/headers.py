"""The headers that each kind of route must carry (T-H1), in one place.

A view sets what is particular to its answer; what it does not set is filled in here by the kind of address.
"""

from typing import Any, Final

from modhub.declarations import Declarations
from modhub.request import Request, as_walked

EXPOSED: Final = (
    "ETag, Last-Modified, Accept-Ranges, Content-Range, Content-Disposition, Repr-Digest, Retry-After, "
    "WWW-Authenticate, Allow, X-Request-Id"
)
"""What a page elsewhere may read of an answer."""
ALLOWED_HEADERS: Final = "Authorization, Content-Type, Range, If-Range, If-None-Match, If-Modified-Since"
"""What a page elsewhere may send. Never cookies, never a machine key."""
API_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
PAGE_POLICY: Final = (
    "default-src 'none'; script-src {source}; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
REQUEST_ID: Final = "modhub.request_id"
"""Where the environ holds the request's id, the same for every attempt."""
NONCE: Final = "modhub.nonce"
"""Where the environ holds the page's nonce, if a template has asked for one."""
Pairs = tuple[tuple[str, str], ...]


class HeaderRules:
    """Completes the headers of answers; made once for an application."""

    PREFLIGHT: Final[Pairs] = (
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE"),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS),
        ("Access-Control-Max-Age", "7200"),
    )

    def __init__(self, *, https: bool) -> None:
        every: Pairs = (
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "strict-origin-when-cross-origin"),
        )
        self.transport: Pairs = (("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),) * https
        """What the server's own answers carry too, which it gives before it has a request to show us."""
        every += self.transport
        self.api: Pairs = (
            *every,
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
            *every,
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Frame-Options", "DENY"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-cache"),
        )

    def is_preflight(self, request: Request) -> bool:
        """A browser asks whether a page elsewhere may call: the API and what anybody reads, without credentials."""
        environ = request.environ
        asks = environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        return asks and (request.is_api or is_open(request))

    def finish(self, request: Request, response: Any) -> None:
        """Add every header of the address's kind that ``response`` does not have, and the request's id."""
        present = {name.lower() for name, _ in response.headerlist}
        defaults = self.api if request.is_api else (*self.site, *page_headers(request, response))
        if not request.is_api and is_open(request):
            # Also where there is nothing: a page elsewhere is to read the refusal, not to see the network fail.
            response.headerlist.extend(pair for pair in self.open if pair[0].lower() not in present)
            present.add("cross-origin-resource-policy")
        response.headerlist.extend(pair for pair in defaults if pair[0].lower() not in present)
        response.headerlist.append(("X-Request-Id", request.environ[REQUEST_ID]))


def is_open(request: Request) -> bool:
    """Whether ``config.add_cross_origin`` has named the address: outside of the API, what pages elsewhere may read."""
    path = as_walked(request.environ.get("PATH_INFO", ""))
    return any(pattern.fullmatch(path) for pattern in request.find_service(Declarations).cross_origin)


def make_header_rules(registry: Any) -> HeaderRules:
    """The rules of this deployment."""
    return HeaderRules(https=registry.settings["modhub.base_url"].startswith("https:"))


def page_headers(request: Request, response: Any) -> Pairs:
    """What depends on the page: scripts run by its nonce alone, never by ``'self'``.

    A page without a script has no nonce: an error page is then the same to the letter for whatever is not there. Style
    sheets need none, since our files refuse to be one (:mod:`modhub.downloads`).
    """
    nonce = request.environ.get(NONCE)
    policy = PAGE_POLICY.format(source=f"'nonce-{nonce}'" if nonce else "'none'")
    pairs: Pairs = (("Content-Security-Policy", policy),)
    if response.content_type == "text/html":
        # What a page shows depends on who is signed in and on the reader's language.
        pairs += (("Vary", "Cookie, Accept-Language"),)
    return pairs
