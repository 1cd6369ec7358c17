"""What was typed outlives a session that ended and a form that lapsed meanwhile.

A view that declares ``keeps`` (its fields and their labels) shows them again in a form with a new token: beside the
way to sign in, or for whoever has signed in again in another tab. Nobody types anything twice, and sending it again
works. Fields that are not declared, such as passwords, are never shown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.exceptions import BadCSRFToken
from pyramid.httpexceptions import HTTPForbidden
from pyramid.renderers import render
from pyramid.response import Response
from pyramid.viewderivers import INGRESS

from modhub.errors import ApiError
from modhub.payload import LIMIT_EXCEEDED, STATE, encode
from modhub.request import Request
from modhub.security.identity import CredentialKind, CredentialPolicy
from modhub.ui.forms import expired_form, is_plain, is_vouched, set_error_status
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect

RESUBMIT_TEMPLATE: Final = "modhub:templates/again.jinja2"
RecoverableView = Callable[[Any, Request], Any]


def signed_out() -> ApiError:
    """403: the session ended while the form was being filled in. Not 401, which would name a scheme of HTTP's own."""
    return ApiError(403, "signed_out", "You were signed out in the meantime, so nothing was saved.")


def wants_json(request: Request) -> bool:
    """Whether the pages' own script asks, which stays on its page."""
    return "application/json" in request.environ.get("HTTP_ACCEPT", "")


def json_for_script(request: Request, refusal: ApiError, **more: object) -> Response:
    """A refusal for the pages' own script: the body as programs get it, its sentence in the reader's language."""
    message = refusal.localized(translations_for(request).gettext)
    body = encode({**refusal.body(), "message": message, **more})
    return Response(body, refusal.status, content_type="application/json", charset=None, cache_control="no-store")


def preserve_form_deriver(view: RecoverableView, info: Any) -> RecoverableView:
    """The view deriver for ``preserve_fields={"title": "Title"}``; one with an empty label is sent again and not shown.

    Only what the browser vouches for: a form on somebody else's page gets no token together with its fields.
    """
    fields = info.options.get("preserve_fields")
    if fields is None:
        return view

    def kept_view(context: Any, request: Request) -> Any:
        try:
            return view(context, request)
        except HTTPForbidden:
            answer = request.find_service(CredentialPolicy).challenge(request, CredentialKind.ACCOUNT)
            # With nothing to keep the visitor is led to the sign-in page as from any page (C-PAGE-8). What nobody
            # can type is no reason to take a large body from somebody unknown.
            keeps = (fields and STATE not in request.environ) or wants_json(request)
            if not keeps or not isinstance(answer, Redirect) or not _may_keep(request):
                raise
            return resubmit_view(request, signed_out(), fields, answer.headers["Location"])
        except BadCSRFToken:
            if not _may_keep(request):
                raise
            return resubmit_view(request, expired_form(), fields)

    return kept_view


preserve_form_deriver.options = ("preserve_fields",)  # type: ignore[attr-defined]


def _may_keep(request: Request) -> bool:
    return is_vouched(request) and request.environ.get(LIMIT_EXCEEDED) is None


def resubmit_view(request: Request, refusal: ApiError, labels: Mapping[str, str], sign_in: str = "") -> Response:
    """The page with what was typed. ``sign_in``: where the reader signs in first."""
    set_error_status(request, refusal)
    if wants_json(request):
        return json_for_script(request, refusal, signIn=sign_in)
    plain = is_plain(request)
    fields = _typed(request, labels) if plain else []
    values = {"refusal": refusal, "sign_in": sign_in, "action": request.path, "fields": fields, "has_file": not plain}
    return Response(render(RESUBMIT_TEMPLATE, values, request=request), refusal.status, cache_control="no-store")


def _typed(request: Request, labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(name, label, text) of the fields that were sent."""
    sent = {name: "\n".join(request.POST.getall(name)) for name in labels if name in request.POST}
    return [(name, labels[name], text.replace("\r\n", "\n")) for name, text in sent.items()]


def includeme(config: Configurator) -> None:
    """Outside the permission and the token, whose refusals it answers."""
    config.add_view_deriver(preserve_form_deriver, "kept", under=INGRESS, over="secured_view")
