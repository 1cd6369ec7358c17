"""Declaring views for the API or the site, and the derivers that wrap them.

``api`` and ``page`` are ``view_config`` with ``is_api`` filled in. Two derivers wrap every view: one rejects extra path
segments, one returns 404 to a permitted caller if nothing is at the address.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pyramid.config import Configurator
from pyramid.renderers import JSON
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from pyramid.viewderivers import INGRESS
from zope.interface import providedBy

from modhub.base.errors import not_found
from modhub.base.operations import Operation
from modhub.base.service_registry import find_service
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.traversal import Addresses

OPEN = NO_PERMISSION_REQUIRED
ViewCallable = Callable[[Any, Request], Any]

F = TypeVar("F", bound=Callable[..., Any])


def api(*, operation: Operation | None = None, **options: Any) -> Callable[[F], F]:
    """Declare an API view; its result is rendered as JSON. Options as for ``view_config``.

    ``operation`` describes the call at ``/api/openapi.json``; without one it is not in there.
    """
    declared: Callable[[F], F] = view_config(is_api=True, renderer="json", operation=operation, **options)
    return declared


def page(**options: Any) -> Callable[[F], F]:
    """Declare a page. Options as for ``view_config``; ``operation`` describes what programs read there, too."""
    declared: Callable[[F], F] = view_config(is_api=False, **options)
    return declared


class ApiPredicate:
    """``is_api=True`` or ``False``: whether the address belongs to the API or to the site. Needs no query."""

    def __init__(self, is_api: bool, _config: Configurator) -> None:
        self.is_api = is_api

    def text(self) -> str:
        """For introspection and for distinguishing two views."""
        return f"is_api = {self.is_api}"

    phash = text

    def __call__(self, _context: Any, request: Request) -> bool:
        """Whether the request is for this side."""
        return self.is_api == request.is_api


def reject_subpath_deriver(view: ViewCallable, info: Any) -> ViewCallable:
    """404 for segments after a view's name, which traversal would ignore; ``subpath=True`` allows them."""
    if info.options.get("subpath"):
        return view

    def exact_view(context: Any, request: Request) -> Any:
        if request.subpath and request.exception is None:
            raise not_found()
        return view(context, request)

    return exact_view


reject_subpath_deriver.options = ("subpath",)  # type: ignore[attr-defined]


def require_existing_deriver(view: ViewCallable, info: Any) -> ViewCallable:
    """After the permission check, 404 if ``context.exists`` is false. Public views do their own lookup."""
    if info.options.get("permission") == OPEN or info.exception_only:
        return view

    def existing_view(context: Any, request: Request) -> Any:
        if not context.exists:
            raise not_found()
        return view(context, request)

    return existing_view


def describing_deriver(view: ViewCallable, _info: Any) -> ViewCallable:
    """Accept the option ``operation``, which :mod:`modhub.web.openapi` reads from the introspector."""
    return view


describing_deriver.options = ("operation",)  # type: ignore[attr-defined]


def allowed_methods(request: Request) -> list[str]:
    """The methods of the address of ``request``, sorted; empty if it has no view at all."""
    table = request.find_service(Addresses).methods
    method_sets = (
        table.get((interface, request.view_name, request.is_api), ()) for interface in providedBy(request.context)
    )
    return sorted({method for methods in method_sets for method in methods})


def build_allowed_methods(config: Configurator) -> None:
    """Collect the methods of each (interface, name, is_api) once all views are declared."""
    table: dict[tuple[Any, str, Any], set[str]] = {}
    for entry in config.introspector.get_category("views") or ():
        view = entry["introspectable"]
        methods = view["request_methods"]
        if view["exception_only"] or not methods:
            continue
        for method in (methods,) if isinstance(methods, str) else methods:
            implied = {"HEAD"} if method == "GET" else set()
            table.setdefault((view["context"], view["name"], view.get("is_api")), set()).update({method}, implied)
    find_service(config.registry, Addresses).methods.update(table)


def includeme(config: Configurator) -> None:
    """Register the predicate, the derivers and the renderer."""
    config.add_view_predicate("is_api", ApiPredicate)
    config.add_view_deriver(reject_subpath_deriver, "exact", under=INGRESS, over="secured_view")
    config.add_view_deriver(require_existing_deriver, "existing", under="secured_view", over="rendered_view")
    config.add_view_deriver(describing_deriver, "describing")
    config.add_renderer("json", JSON(serializer=lambda value, **_: encode(value)))
    # After all views of all features: PHASE3 actions have order 0.
    config.action("modhub view methods", lambda: build_allowed_methods(config), order=1_000)
