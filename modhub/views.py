"""How views are declared: for the API or for the site, and what wraps each of them.

``api`` and ``page`` are ``view_config`` with ``is_api`` filled in. Two derivers wrap every view: one refuses what lies
below an address that ends there, one tells a permitted caller that nothing is at the address.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pyramid.config import Configurator
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from pyramid.viewderivers import INGRESS

from modhub.errors import not_found
from modhub.payload import encode
from modhub.request import Request
from modhub.security.policy import provided_interfaces
from modhub.service_registry import find_service

OPEN = NO_PERMISSION_REQUIRED
ViewCallable = Callable[[Any, Request], Any]

F = TypeVar("F", bound=Callable[..., Any])


def api(**options: Any) -> Callable[[F], F]:
    """Declare an API view; what it returns is written as JSON. Options as of ``view_config``."""
    declared: Callable[[F], F] = view_config(is_api=True, renderer="json", **options)
    return declared


def page(**options: Any) -> Callable[[F], F]:
    """Declare a page. Options as of ``view_config``."""
    declared: Callable[[F], F] = view_config(is_api=False, **options)
    return declared


class ApiPredicate:
    """``is_api=True`` or ``False``: whether the address belongs to the API or to the site. It touches no row."""

    def __init__(self, wanted: bool, _config: Configurator) -> None:
        self.wanted = wanted

    def text(self) -> str:
        """For introspection and for telling two views apart."""
        return f"is_api = {self.wanted}"

    phash = text

    def __call__(self, _context: Any, request: Request) -> bool:
        """Whether the request came to this side."""
        return self.wanted == request.is_api


def reject_subpath_deriver(view: ViewCallable, info: Any) -> ViewCallable:
    """404 for segments after the name of a view: traversal would ignore them. ``subpath=True`` wants them."""
    if info.options.get("subpath"):
        return view

    def exact_view(context: Any, request: Request) -> Any:
        if request.subpath and request.exception is None:
            raise not_found()
        return view(context, request)

    return exact_view


reject_subpath_deriver.options = ("subpath",)  # type: ignore[attr-defined]


def require_existing_deriver(view: ViewCallable, info: Any) -> ViewCallable:
    """404 for a permitted caller where nothing is. Open views look themselves: to them absent is unpublished."""
    if info.options.get("permission") == OPEN or info.exception_only:
        return view

    def existing_view(context: Any, request: Request) -> Any:
        if not context.exists:
            raise not_found()
        return view(context, request)

    return existing_view


class JsonRenderer:
    """The renderer ``json``: what the contract's bodies are written with."""

    def __init__(self, _info: Any) -> None:
        pass

    def __call__(self, value: Any, system: dict[str, Any]) -> bytes:
        """Bytes of ``value``; the content type is set on the request's response."""
        response = system["request"].response
        response.content_type = "application/json"
        return encode(value)


class AllowedMethods(dict[tuple[Any, str, Any], set[str]]):
    """The methods that each (interface, view name, is_api) has; complete when all views are declared."""


def allowed_methods(request: Request) -> list[str]:
    """The methods that the address of ``request`` has, sorted; empty when it has no view here at all."""
    table = request.find_service(AllowedMethods)
    names = (
        table.get((interface, request.view_name, request.is_api), ())
        for interface in provided_interfaces(request.context)
    )
    return sorted({method for found in names for method in found})


def build_allowed_methods(config: Configurator) -> None:
    """Note, once all views are declared, which methods each (interface, name, is_api) has."""
    table: dict[tuple[Any, str, Any], set[str]] = {}
    for entry in config.introspector.get_category("views") or ():
        view = entry["introspectable"]
        methods = view["request_methods"]
        if view["exception_only"] or not methods:
            continue
        for method in (methods,) if isinstance(methods, str) else methods:
            extra = {"HEAD"} if method == "GET" else set()
            table.setdefault((view["context"], view["name"], view.get("is_api")), set()).update({method}, extra)
    find_service(config.registry, AllowedMethods).update(table)


def includeme(config: Configurator) -> None:
    """The predicate, the derivers, the renderer, and the table of methods."""
    config.add_service(AllowedMethods, AllowedMethods())
    config.add_view_predicate("is_api", ApiPredicate)
    config.add_view_deriver(reject_subpath_deriver, "exact", under=INGRESS, over="secured_view")
    config.add_view_deriver(require_existing_deriver, "existing", under="secured_view", over="rendered_view")
    config.add_renderer("json", JsonRenderer)
    # After every view of every feature: PHASE3 actions run in order 0, this one behind them.
    config.action("modhub view methods", lambda: build_allowed_methods(config), order=1_000)
