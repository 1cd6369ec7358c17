"""How views are declared: on which face, and what stands around each of them.

``api`` and ``page`` are ``view_config`` with the face filled in. Two derivers stand around every view: one refuses what
lies below an address that ends there, one tells a permitted caller that nothing is at the address.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pyramid.config import Configurator
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from pyramid.viewderivers import INGRESS

from modhub.errors import not_found
from modhub.interfaces import IApi, ISite
from modhub.payload import encode
from modhub.request import Request

OPEN = NO_PERMISSION_REQUIRED
View = Callable[[Any, Request], Any]

F = TypeVar("F", bound=Callable[..., Any])


def api(**options: Any) -> Callable[[F], F]:
    """Declare a view of the face for programs; what it returns is written as JSON. Options as of ``view_config``."""
    declared: Callable[[F], F] = view_config(face=IApi, renderer="json", **options)
    return declared


def page(**options: Any) -> Callable[[F], F]:
    """Declare a view of the face for people. Options as of ``view_config``."""
    declared: Callable[[F], F] = view_config(face=ISite, **options)
    return declared


class FacePredicate:
    """``face=IApi`` or ``face=ISite``: which of the two faces the address belongs to. It touches no row."""

    def __init__(self, face: Any, _config: Configurator) -> None:
        self.face = face

    def text(self) -> str:
        """For introspection and for telling two views apart."""
        return f"face = {self.face.__name__}"

    phash = text

    def __call__(self, _context: Any, request: Request) -> bool:
        """Whether the request came by this face."""
        return (self.face is IApi) == request.is_api


def exact(view: View, info: Any) -> View:
    """404 for segments after the name of a view: traversal would ignore them. ``subpath=True`` wants them."""
    if info.options.get("subpath"):
        return view

    def exact_view(context: Any, request: Request) -> Any:
        if request.subpath and request.exception is None:
            raise not_found()
        return view(context, request)

    return exact_view


exact.options = ("subpath",)  # type: ignore[attr-defined]


def existing(view: View, info: Any) -> View:
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


def includeme(config: Configurator) -> None:
    """The predicate, the derivers and the renderer."""
    config.add_view_predicate("face", FacePredicate)
    config.add_view_deriver(exact, "exact", under=INGRESS, over="secured_view")
    config.add_view_deriver(existing, "existing", under="secured_view", over="rendered_view")
    config.add_renderer("json", JsonRenderer)
