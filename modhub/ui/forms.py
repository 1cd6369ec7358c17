"""What stands around every form: the hidden ``csrf_token``, the ``Origin`` check, how a refused form is shown again.

The token is checked by Pyramid's own machinery for every view of a page with an unsafe method, unless the view says
``require_csrf=False`` and reads a streamed body (:mod:`modhub.ui.multipart`), which checks it itself. Where tokens
are kept is a policy: the core's is a cookie of its own; a feature with sessions sets another with
``config.set_csrf_storage_policy``.
"""

import logging
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from pyramid.config import Configurator
from pyramid.csrf import CookieCSRFStoragePolicy, LegacySessionCSRFStoragePolicy
from pyramid.exceptions import BadCSRFToken
from pyramid.interfaces import ICSRFStoragePolicy

from modhub.errors import ApiError
from modhub.http.error_views import render_error
from modhub.http.forms import URLENCODED, media_type_of
from modhub.limits import JSON_BODY
from modhub.request import SAFE_METHODS, Request
from modhub.text import N_

log = logging.getLogger(__name__)
CSRF_FIELD: Final = "csrf_token"
MAX_FORM_BYTES: Final = 256 * 1024
"""Bytes that a form without files may have."""
LONG_FIELDS: Final = JSON_BODY
"""Bytes of a form with text that is trimmed however long it is, as much as the same text may have as JSON."""
FormView = Callable[[Any, Request], Any]


def expired_form() -> ApiError:
    """400: the form's token is not ours, or no longer: whoever signs in or out in another tab gets a new one."""
    message = N_("This form has expired and nothing was saved. Go back, reload the page and submit it again.")
    return ApiError(400, "form_lapsed", message)


def foreign_form() -> ApiError:
    """403: the form was on somebody else's page."""
    return ApiError(403, "foreign_form", "This form was submitted from another site, so nothing was saved.")


def check_origin(request: Request) -> None:
    """Refuse a form whose ``Origin`` is not ours; without one the token decides (C-PAGE-8).

    ``null`` is what a browser sends from a page with ``Referrer-Policy: no-referrer``; that is ours only where the
    browser vouches for it.
    """
    if "HTTP_ORIGIN" in request.environ and not is_vouched(request):
        _log_origins(request)
        raise foreign_form()


def _log_origins(request: Request) -> None:
    """Both origins: where modhub.base_url is not what browsers see, no form works, and only the log can tell why."""
    sent, ours = request.environ["HTTP_ORIGIN"], request.registry.settings["modhub.base_url"]
    seen = f"{request.environ['wsgi.url_scheme']}://"
    slip = urlsplit(ours).netloc == sent.partition("://")[2] or not ours.startswith(seen)
    level = logging.WARNING if slip else logging.INFO
    log.log(level, "a form was refused: it comes from %.200r, modhub.base_url is %s, asked by %s", sent, ours, seen)


def is_vouched(request: Request) -> bool:
    """Whether the browser says that the form was on one of our pages."""
    origin = request.environ.get("HTTP_ORIGIN")
    if origin == "null":
        return bool(request.environ.get("HTTP_SEC_FETCH_SITE") == "same-origin")
    return bool(origin == request.registry.settings["modhub.base_url"])


def check_token(request: Request, token: str) -> None:
    """For a view that reads its fields by itself."""
    policy = request.registry.getUtility(ICSRFStoragePolicy)
    if not policy.check_csrf_token(request, token):
        raise expired_form()


def is_plain(request: Request) -> bool:
    """Whether the body is a form without files."""
    return media_type_of(request.environ.get("CONTENT_TYPE", "")) == URLENCODED


def own_form(view: FormView, info: Any) -> FormView:
    """The view deriver that checks the origin of every form of every page, streamed ones too."""
    methods = info.options.get("request_method") or ()
    methods = {methods} if isinstance(methods, str) else set(methods)
    if info.options.get("is_api") is not False or not methods - SAFE_METHODS:
        return view

    def own_form_view(context: Any, request: Request) -> Any:
        if not request.is_safe:
            check_origin(request)
        return view(context, request)

    return own_form_view


own_form.options = ("is_api", "request_method")  # type: ignore[attr-defined]


def set_error_status(request: Request, refusal: ApiError) -> None:
    """Show the form again with this refusal's status; nothing that the transaction holds is kept."""
    request.tm.doom()
    request.response.status_int = refusal.status
    request.response.headers.update({"Cache-Control": "no-store", **refusal.headers})


def bad_token_view(_error: BadCSRFToken, request: Request) -> Any:
    """The page for a lapsed form."""
    return render_error(expired_form(), request)


def _wants_token(request: Request) -> bool:
    return not request.is_api


def _set_default_policy(config: Configurator) -> None:
    """The core's own policy, where no feature has set one (Pyramid's is the session's, and the core has none)."""
    registry = config.registry
    if not isinstance(registry.queryUtility(ICSRFStoragePolicy), LegacySessionCSRFStoragePolicy):
        return
    https = registry.settings["modhub.base_url"].startswith("https:")
    name = "__Host-modhub-form" if https else "modhub-form"
    policy = CookieCSRFStoragePolicy(cookie_name=name, secure=https, httponly=True, samesite="Lax")
    registry.registerUtility(policy, ICSRFStoragePolicy)


def includeme(config: Configurator) -> None:
    """The token for all pages, the origin for all forms."""
    config.set_default_csrf_options(
        require_csrf=True,
        token=CSRF_FIELD,
        header=None,
        safe_methods=tuple(SAFE_METHODS | {"TRACE"}),
        check_origin=False,
        callback=_wants_token,
    )
    config.add_body_limit("POST", "/Modhub/{rest...}", MAX_FORM_BYTES)
    config.add_view_deriver(own_form, "own_form", under="secured_view", over="csrf_view")
    config.add_exception_view(bad_token_view, context=BadCSRFToken)
    # Behind the features, which may set a policy of their own.
    config.action("modhub default csrf policy", lambda: _set_default_policy(config), order=1_000)
