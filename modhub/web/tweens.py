"""The gateway: rejects unusable requests, answers CORS preflights, and adds the default headers."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.body_rules import BodyRules
from modhub.base.errors import ApiError, invalid
from modhub.base.service_registry import find_service
from modhub.web.error_views import render_error
from modhub.web.headers import HeaderRules
from modhub.web.request import Request

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2}|[\x80-\xff])+")


def early_error(request: Request) -> ApiError | None:
    """The error for a request that must not reach a view: unknown method (TRACE would run GET views), invalid UTF-8."""
    environ = request.environ
    if environ["REQUEST_METHOD"] not in METHODS:
        allow = {"Allow": "GET, HEAD, POST, PUT, DELETE, OPTIONS"}
        return ApiError(405, "method_not_allowed", "This method is not supported.", headers=allow)
    try:
        environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8")
    except UnicodeError:
        return invalid("The address is not valid UTF-8.")
    return None


def repair_query_string(query: str) -> str:
    """The query with invalid UTF-8 replaced: parameters of a list are never rejected (C-LIST-2, T-D5)."""
    return _ENCODED.sub(lambda run: quote(_unquote(run[0]).decode("utf-8", "replace"), safe=""), query)


def _unquote(run: str) -> bytes:
    return unquote_to_bytes(run.encode("latin-1"))


def _is_text(query: str) -> bool:
    try:
        _unquote(query).decode("utf-8")
    except UnicodeError:
        return False
    return True


def gateway_tween_factory(handler: Callable[[Request], Any], registry: Any) -> Callable[[Request], Any]:
    """Return the tween, for Pyramid."""
    rules = HeaderRules(registry)

    def gateway_tween(request: Request) -> Any:
        environ = request.environ
        # Pyramid uses it to build resource URLs; clients must not choose the root of the tree.
        environ.pop("HTTP_X_VHM_ROOT", None)
        query = environ.get("QUERY_STRING", "")
        if query and not _is_text(query):
            environ["QUERY_STRING"] = repair_query_string(query)
        error = early_error(request)
        if error is not None:
            response = render_error(error, request)
        elif rules.is_preflight(request):
            response = Response(status=204, headerlist=list(rules.PREFLIGHT))
        else:
            response = handler(request)
        rules.finish(request, response)
        return response

    return gateway_tween


def includeme(config: Configurator) -> None:
    """Add the tween, and pass its transport headers to the server for responses that no tween sees."""
    config.add_tween("modhub.web.tweens.gateway_tween_factory")
    registry = config.registry
    find_service(registry, BodyRules).error_headers = HeaderRules(registry).transport
