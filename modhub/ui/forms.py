"""What all forms share: the hidden ``csrf_token``, the ``Origin`` check, and the status of a form shown again.

Pyramid checks the token for every page view with an unsafe method. A view with ``require_csrf=False`` reads a streamed
body (:mod:`modhub.ui.multipart`), which checks the token itself. Tokens are stored in a cookie by default; a feature
with sessions sets another policy with ``config.set_csrf_storage_policy``.
"""

import logging
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from pyramid.config import Configurator
from pyramid.csrf import CookieCSRFStoragePolicy, LegacySessionCSRFStoragePolicy
from pyramid.exceptions import BadCSRFToken
from pyramid.interfaces import ICSRFStoragePolicy

from modhub.base.errors import ApiError
from modhub.base.repeated_lines import log_sometimes
from modhub.content.limits import JSON_BODY
from modhub.content.text import N_
from modhub.web.error_views import render_error
from modhub.web.forms import URLENCODED, media_type_of
from modhub.web.own_cookies import is_https, own_cookie_name
from modhub.web.request import SAFE_METHODS, Request

log = logging.getLogger(__name__)
CSRF_FIELD: Final = "csrf_token"
MAX_FORM_BYTES: Final = 256 * 1024
"""Maximum bytes of a form without files."""
LONG_FIELDS: Final = JSON_BODY
"""Maximum bytes of a form with long text, which is trimmed rather than rejected; the same limit as for JSON."""
FormView = Callable[[Any, Request], Any]


def expired_form() -> ApiError:
    """400: the form's token is invalid or has expired; signing in or out in another tab replaces it."""
    message = N_("This form has expired and nothing was saved. Go back, reload the page and submit it again.")
    return ApiError(400, "form_lapsed", message)


def foreign_form() -> ApiError:
    """403: the form was submitted from another site."""
    return ApiError(403, "foreign_form", "This form was submitted from another site, so nothing was saved.")


def check_origin(request: Request) -> None:
    """Reject a form with a foreign ``Origin``; without that header the token decides (C-PAGE-8).

    Browsers send ``null`` from a page with ``Referrer-Policy: no-referrer``. It is accepted only with
    ``Sec-Fetch-Site: same-origin``.
    """
    if "HTTP_ORIGIN" in request.environ and not is_same_origin(request):
        _log_origins(request)
        raise foreign_form()


def _log_origins(request: Request) -> None:
    """Log both origins: if modhub.base_url is not the address that browsers use, no form works."""
    origin, base_url = request.environ["HTTP_ORIGIN"], request.registry.settings["modhub.base_url"]
    scheme = f"{request.environ['wsgi.url_scheme']}://"
    is_misconfigured = urlsplit(base_url).netloc == origin.partition("://")[2] or not base_url.startswith(scheme)
    level = logging.WARNING if is_misconfigured else logging.INFO
    message = "form rejected: its origin is %.200r, modhub.base_url is %s, the request came by %s"
    log_sometimes(log, level, message, origin, base_url, scheme)


def is_same_origin(request: Request) -> bool:
    """Whether the browser says that the form was on one of our pages (``Origin``, ``Sec-Fetch-Site``)."""
    origin = request.environ.get("HTTP_ORIGIN")
    if origin == "null":
        return bool(request.environ.get("HTTP_SEC_FETCH_SITE") == "same-origin")
    return bool(origin == request.registry.settings["modhub.base_url"])


def check_token(request: Request, token: str) -> None:
    """Check the token of a form whose view reads the fields itself; 400 if invalid."""
    policy = request.registry.getUtility(ICSRFStoragePolicy)
    if not policy.check_csrf_token(request, token):
        raise expired_form()


def is_urlencoded(request: Request) -> bool:
    """Whether the body is a form without files (``application/x-www-form-urlencoded``)."""
    return media_type_of(request.environ.get("CONTENT_TYPE", "")) == URLENCODED


def check_origin_deriver(view: FormView, info: Any) -> FormView:
    """View deriver that checks the origin of all forms, including streamed ones."""
    methods = info.options.get("request_method") or ()
    methods = {methods} if isinstance(methods, str) else set(methods)
    if info.options.get("is_api") is not False or not methods - SAFE_METHODS:
        return view

    def origin_checked_view(context: Any, request: Request) -> Any:
        if not request.is_safe:
            check_origin(request)
        return view(context, request)

    return origin_checked_view


check_origin_deriver.options = ("is_api", "request_method")  # type: ignore[attr-defined]


def set_error_status(request: Request, error: ApiError) -> None:
    """Set the status of a form shown again with an error, and roll back the transaction."""
    request.tm.doom()
    request.response.status_int = error.status
    request.response.headers.update({"Cache-Control": "no-store", **error.headers})


def bad_token_view(_error: BadCSRFToken, request: Request) -> Any:
    """Show the error page for an expired form."""
    return render_error(expired_form(), request)


def _wants_token(request: Request) -> bool:
    return not request.is_api


def _set_default_policy(config: Configurator) -> None:
    """Set the cookie policy unless a feature has set another. Pyramid's default needs a session."""
    registry = config.registry
    if not isinstance(registry.queryUtility(ICSRFStoragePolicy), LegacySessionCSRFStoragePolicy):
        return
    name = own_cookie_name(registry, "modhub-form")
    policy = CookieCSRFStoragePolicy(cookie_name=name, secure=is_https(registry), httponly=True, samesite="Lax")
    registry.registerUtility(policy, ICSRFStoragePolicy)


def includeme(config: Configurator) -> None:
    """Check the token on all pages and the origin of all forms."""
    config.set_default_csrf_options(
        require_csrf=True,
        token=CSRF_FIELD,
        header=None,
        safe_methods=tuple(SAFE_METHODS | {"TRACE"}),
        check_origin=False,
        callback=_wants_token,
    )
    config.add_body_limit("POST", "/Modhub/{rest...}", MAX_FORM_BYTES)
    config.add_view_deriver(check_origin_deriver, "check_origin", under="secured_view", over="csrf_view")
    config.add_exception_view(bad_token_view, context=BadCSRFToken)
    # After the features, which may set their own policy.
    config.action("modhub default csrf policy", lambda: _set_default_policy(config), order=1_000)
