"""Preserve submitted form fields when the session or CSRF token has expired.

A view that declares ``preserve_fields`` (field names and labels) shows them again in a form with a new token: beside a
sign-in link, or directly if the user has signed in again in another tab. Submitting that form works. Other fields, such
as passwords, are never shown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.exceptions import BadCSRFToken
from pyramid.httpexceptions import HTTPForbidden
from pyramid.renderers import render
from pyramid.response import Response
from pyramid.viewderivers import INGRESS

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.plugins.security import SecurityPolicy
from modhub.ui.forms import expired_form, is_same_origin, is_urlencoded, set_error_status
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import LIMIT_EXCEEDED, STATE, json_response
from modhub.web.request import Request

RESUBMIT_TEMPLATE: Final = "modhub:templates/again.jinja2"
RecoverableView = Callable[[Any, Request], Any]


def signed_out() -> ApiError:
    """403: the session ended before the form was submitted. Not 401, which would require ``WWW-Authenticate``."""
    return ApiError(403, "signed_out", "You were signed out in the meantime, so nothing was saved.")


def wants_json(request: Request) -> bool:
    """Whether the request is from the pages' own script, which does not navigate."""
    return "application/json" in request.environ.get("HTTP_ACCEPT", "")


def json_for_script(request: Request, error: ApiError, **more: object) -> Response:
    """Return an error for the pages' own script: the body of the API, with the message translated."""
    message = error.localized(translations_for(request).gettext)
    return json_response({**error.body(), "message": message, **more}, error.status)


def preserve_form_deriver(view: RecoverableView, info: Any) -> RecoverableView:
    """View deriver for ``preserve_fields={"title": "Title"}``; a field with an empty label is resubmitted but hidden.

    A form with fields of features has a function of the request. Only for same-origin submissions: a form on another
    site must not get its fields back with a valid token.
    """
    fields = info.options.get("preserve_fields")
    if fields is None:
        return view

    def preserving_view(context: Any, request: Request) -> Any:
        try:
            return view(context, request)
        except HTTPForbidden:
            challenge = request.find_service(SecurityPolicy).challenge(request, CredentialKind.ACCOUNT)
            # With nothing to preserve, redirect to the sign-in page as usual (C-PAGE-8). A large body is not read from
            # an anonymous visitor just for this.
            preserves = (fields and STATE not in request.environ) or wants_json(request)
            if not preserves or not isinstance(challenge, Redirect) or not _may_preserve(request):
                raise
            return resubmit_view(request, signed_out(), fields, challenge.headers["Location"])
        except BadCSRFToken:
            if not _may_preserve(request):
                raise
            return resubmit_view(request, expired_form(), fields)

    return preserving_view


preserve_form_deriver.options = ("preserve_fields",)  # type: ignore[attr-defined]


def _may_preserve(request: Request) -> bool:
    return is_same_origin(request) and request.environ.get(LIMIT_EXCEEDED) is None


def resubmit_view(request: Request, error: ApiError, labels: Any, sign_in: str = "") -> Response:
    """Show the submitted fields again. ``sign_in``: the address of the sign-in page, if signing in comes first."""
    set_error_status(request, error)
    if wants_json(request):
        return json_for_script(request, error, signIn=sign_in)
    has_file = not is_urlencoded(request)
    labels = labels(request) if callable(labels) else labels
    fields = [] if has_file else _submitted_fields(request, labels)
    values = {"refusal": error, "sign_in": sign_in, "action": request.path, "fields": fields, "has_file": has_file}
    return Response(render(RESUBMIT_TEMPLATE, values, request=request), error.status, cache_control="no-store")


def _submitted_fields(request: Request, labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(name, label, text) of the submitted fields."""
    texts = {name: "\n".join(request.POST.getall(name)) for name in labels if name in request.POST}
    return [(name, labels[name], text.replace("\r\n", "\n")) for name, text in texts.items()]


def includeme(config: Configurator) -> None:
    """Add the deriver outside the permission and token checks, whose exceptions it handles."""
    config.add_view_deriver(preserve_form_deriver, "preserve_form", under=INGRESS, over="secured_view")
