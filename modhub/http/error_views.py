"""How every "no" is shown: as JSON to programs, as a page in the site's layout to people.

Exception views for refusals, for Pyramid's own "not found" and "forbidden", for a database that is not to be had, and
for what nobody foresaw. No answer shows a path, SQL, a token or a stack trace.
"""

import logging
from typing import Any

from pyramid.config import Configurator
from pyramid.exceptions import PredicateMismatch, URLDecodeError
from pyramid.httpexceptions import HTTPException, HTTPForbidden, HTTPNotFound
from pyramid.renderers import render
from pyramid.response import Response
from webob.request import DisconnectionError

from modhub.db import is_transient
from modhub.errors import ApiError, ContinueExpected, OwnershipLost, account_blocked, busy, invalid, not_found
from modhub.http.headers import REQUEST_ID
from modhub.payload import encode
from modhub.request import Request
from modhub.security.identity import CredentialKind, CredentialPolicy
from modhub.security.policy import Blocked
from modhub.text import N_
from modhub.views import allowed_methods

log = logging.getLogger(__name__)
ERROR_TITLES = {
    400: N_("Something is wrong with this request"),
    401: N_("Sign in to continue"),
    403: N_("Not allowed"),
    404: N_("Page not found"),
    405: N_("Method not allowed"),
    409: "Conflict",
    410: N_("This link has expired"),
    413: N_("Too large"),
    429: N_("Too many attempts"),
    500: N_("Something went wrong"),
    502: N_("The file could not be stored"),
    503: N_("Temporarily unavailable"),
}


def render_error(refusal: ApiError, request: Request) -> Response:
    """The response for an error, as JSON or as a page."""
    if request.is_api:
        response = Response(encode(refusal.body()), refusal.status, content_type="application/json", charset=None)
    else:
        values = {
            "refusal": refusal,
            "title": ERROR_TITLES.get(refusal.status, N_("Something is wrong with this request")),
        }
        response = Response(render("modhub:templates/refusal.jinja2", values, request=request), refusal.status)
    response.headers["Cache-Control"] = "no-store"
    response.headers.update(refusal.headers)
    return response


def api_error_view(refusal: ApiError, request: Request) -> Response:
    """A foreseen refusal."""
    return render_error(refusal, request)


def notfound_view(_error: HTTPNotFound, request: Request) -> Response:
    """404, or 405 with ``Allow`` where the address is known by other methods: to everybody alike (C-OWN-12)."""
    methods = []
    if isinstance(request.exception, PredicateMismatch) and not request.subpath:
        methods = allowed_methods(request)
    if not methods or request.method in methods:
        return render_error(not_found(), request)
    headers = {"Allow": ", ".join(methods)}
    refusal = ApiError(
        405,
        "method_not_allowed",
        "This address only supports %(methods)s.",
        values={"methods": headers["Allow"]},
        headers=headers,
    )
    return render_error(refusal, request)


def forbidden_view(error: HTTPForbidden, request: Request) -> Any:
    """The challenge of the credential that the refused permission asks for; 403 for a blocked account."""
    if isinstance(error.result, Blocked):
        return render_error(account_blocked(), request)
    permission = getattr(error.result, "permission", None)
    kind = getattr(permission, "credential", CredentialKind.NONE)
    if kind is CredentialKind.NONE:
        return render_error(not_found(), request)
    answer = request.find_service(CredentialPolicy).challenge(request, kind)
    return render_error(answer, request) if isinstance(answer, ApiError) else answer


def ownership_view(_error: OwnershipLost, request: Request) -> Any:
    """What went away meanwhile, or lies below somebody else's thing: as if the ACL had refused."""
    answer = request.find_service(CredentialPolicy).challenge(request, CredentialKind.ACCOUNT)
    return render_error(answer, request) if isinstance(answer, ApiError) else answer


def continue_view(_error: ContinueExpected, _request: Request) -> Response:
    """100: the server takes the body, and asks again with it (:mod:`modhub.server.parser`)."""
    return Response(status=100)


def undecodable_view(_error: Exception, request: Request) -> Response:
    """400: the address is not UTF-8."""
    return render_error(invalid("The address is not valid UTF-8."), request)


def http_exception_view(error: HTTPException, request: Request) -> Any:
    """Pyramid's own redirects pass; its errors are shown as ours."""
    if error.status_int < 400:
        return error
    sentence = f"{error.title}."
    return render_error(ApiError(error.status_int, "refused", sentence), request)


def internal_error_view(error: Exception, request: Request) -> Response:
    """400 where the sender hung up, 503 where the database cannot be had; else 500 with nothing in it: see the log."""
    if isinstance(error, DisconnectionError):
        return render_error(invalid("The body ended before its Content-Length."), request)
    if is_transient(error):
        log.warning("the database is not available: %s", type(error).__name__)
        return render_error(busy(), request)
    log.error("unforeseen error in request %s", request.environ.get(REQUEST_ID), exc_info=error)
    message = N_("Something went wrong on our side. The error has been logged.")
    return render_error(ApiError(500, "internal_error", message), request)


def includeme(config: Configurator) -> None:
    """The exception views."""
    config.add_exception_view(api_error_view, context=ApiError)
    config.add_exception_view(ownership_view, context=OwnershipLost)
    config.add_exception_view(continue_view, context=ContinueExpected)
    config.add_notfound_view(notfound_view)
    config.add_forbidden_view(forbidden_view)
    config.add_exception_view(undecodable_view, context=URLDecodeError)
    config.add_exception_view(http_exception_view, context=HTTPException)
    config.add_exception_view(internal_error_view, context=Exception)
