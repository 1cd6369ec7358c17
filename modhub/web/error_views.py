"""Renders errors: as JSON for programs, as a page in the site's layout for people.

Exception views for `ApiError`, for Pyramid's own "not found" and "forbidden", for an unavailable database, and for
unexpected exceptions. No response shows a path, SQL, a token or a stack trace.
"""

import logging
from typing import Any

from pyramid.config import Configurator
from pyramid.exceptions import PredicateMismatch
from pyramid.httpexceptions import HTTPException, HTTPForbidden, HTTPNotFound
from pyramid.renderers import render
from pyramid.response import Response
from webob.request import DisconnectionError

from modhub.base.errors import (
    ApiError,
    OwnershipLost,
    RunAgain,
    account_blocked,
    busy,
    invalid,
    not_found,
)
from modhub.base.identity import CredentialKind
from modhub.base.repeated_lines import log_alarm, log_sometimes
from modhub.base.request_ids import REQUEST_ID
from modhub.base.system_faults import is_system_fault
from modhub.content.text import N_
from modhub.db import Databases, database_errors, is_transient
from modhub.plugins.security import Blocked, SecurityPolicy
from modhub.web.headers import PAGE_VARY, is_open
from modhub.web.payload import json_response
from modhub.web.request import Request
from modhub.web.views import allowed_methods

log = logging.getLogger(__name__)
ERROR_TITLES: dict[int | str, str] = {
    400: N_("Something is wrong with this request"),
    401: N_("Sign in to continue"),
    403: N_("Not allowed"),
    404: N_("Page not found"),
    405: N_("Method not allowed"),
    409: N_("This is not possible"),
    410: N_("This link has expired"),
    413: N_("Too large"),
    429: N_("Too many attempts"),
    500: N_("Something went wrong"),
    502: N_("The file could not be stored"),
    503: N_("Temporarily unavailable"),
    "storage_not_configured": N_("Not set up yet"),
}
"""Headings of error pages, by code or status."""


def render_error(error: ApiError, request: Request) -> Response:
    """The response for an error, as JSON or as a page; of a file or feed, as the caller prefers."""
    is_file = not request.is_api and is_open(request)
    if request.is_api or (is_file and _prefers_json(request)):
        response = json_response(error.body(), error.status)
    else:
        values = {
            "refusal": error,
            "title": ERROR_TITLES.get(error.code) or ERROR_TITLES.get(error.status, ERROR_TITLES[400]),
        }
        response = Response(render("modhub:templates/refusal.jinja2", values, request=request), error.status)
    response.headers["Cache-Control"] = "no-store"
    if is_file:
        response.headers["Vary"] = "Accept" if response.content_type == "application/json" else f"Accept, {PAGE_VARY}"
    response.headers.update(error.headers)
    return response


def _prefers_json(request: Request) -> bool:
    """Whether ``Accept`` names JSON, and HTML no sooner; an unreadable one names nothing."""
    named = {media_type for media_type, *_ in request.accept.parsed or ()}
    offers = request.accept.acceptable_offers([kind for kind in ("text/html", "application/json") if kind in named])
    return bool(offers) and offers[0][0] == "application/json"


def notfound_view(_error: HTTPNotFound, request: Request) -> Response:
    """404, or 405 with ``Allow`` where the address has views for other methods; the same for everybody (C-OWN-12)."""
    methods = []
    if isinstance(request.exception, PredicateMismatch) and not request.subpath:
        methods = allowed_methods(request)
    if not methods or request.method in methods:
        return render_error(not_found(), request)
    headers = {"Allow": ", ".join(methods)}
    error = ApiError(
        405,
        "method_not_allowed",
        "This address only supports %(methods)s.",
        values={"methods": headers["Allow"]},
        headers=headers,
    )
    return render_error(error, request)


def forbidden_view(error: HTTPForbidden, request: Request) -> Any:
    """The challenge of the credential that the denied permission requires; 403 for a blocked account."""
    if isinstance(error.result, Blocked):
        return render_error(account_blocked(), request)
    permission = getattr(error.result, "permission", None)
    return _challenge(request, getattr(permission, "credential", CredentialKind.NONE))


def ownership_view(_error: OwnershipLost, request: Request) -> Any:
    """Something that was just deleted, or belongs to someone else: the same response as a denial by the ACL."""
    return _challenge(request, CredentialKind.ACCOUNT)


def _challenge(request: Request, kind: CredentialKind) -> Any:
    if kind is CredentialKind.NONE:
        return render_error(not_found(), request)
    challenge = request.find_service(SecurityPolicy).challenge(request, kind)
    return render_error(challenge, request) if isinstance(challenge, ApiError) else challenge


def run_again_view(error: RunAgain, _request: Request) -> Response:
    """100 or 102, which the server understands (:mod:`modhub.server.tasks`) and no client gets."""
    return Response(status=error.status)


def http_exception_view(error: HTTPException, request: Request) -> Any:
    """Pyramid's own redirects pass; its errors are rendered as ours."""
    if error.status_int < 400:
        return error
    message = f"{error.title}."
    return render_error(ApiError(error.status_int, "refused", message), request)


def internal_error_view(error: Exception, request: Request) -> Response:
    """400 if the client hung up, 503 if the database or the system is not available.

    Otherwise 500 without details: see the log.
    """
    if isinstance(error, DisconnectionError):
        return render_error(invalid("The body ended before its Content-Length."), request)
    if is_transient(error):
        url = request.find_service(Databases).write_engine.url
        reason = database_errors.driver_reason(error, url)
        log_sometimes(log, logging.WARNING, "the database is not available: %s", reason)
        return render_error(busy(), request)
    if is_system_fault(error):
        # Such as a temporary file on a full disk.
        log_alarm(log, "a request cannot be answered: %s", error.strerror)
        return render_error(busy(), request)
    log.error("unexpected error in request %s", request.environ.get(REQUEST_ID), exc_info=error)
    message = N_("Something went wrong on our side. The error has been logged.")
    return render_error(ApiError(500, "internal_error", message), request)


def includeme(config: Configurator) -> None:
    """The exception views."""
    config.add_exception_view(render_error, context=ApiError)
    config.add_exception_view(ownership_view, context=OwnershipLost)
    config.add_exception_view(run_again_view, context=RunAgain)
    config.add_notfound_view(notfound_view)
    config.add_forbidden_view(forbidden_view)
    config.add_exception_view(http_exception_view, context=HTTPException)
    config.add_exception_view(internal_error_view, context=Exception)
