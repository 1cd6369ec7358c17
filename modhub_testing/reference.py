"""Which calls an application serves.

Nothing here depends on a feature: calls are found by walking the resource tree and the registered views.
"""

import re
from collections.abc import Iterator
from typing import Any

from zope.interface.interfaces import IInterface

from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations
from modhub.web.request import Request, is_api_path
from modhub.web.served_operations import Place, find_places
from modhub.web.traversal import Resource, root_factory
from modhub_testing import Site

Call = tuple[str, str]
"""A method and a path in which ``{}`` stands for a variable segment."""

_VARIABLE = re.compile(r"\{[^}]*\}")


def methods_of(view: Any) -> set[str]:
    """Return the methods of an introspected view."""
    methods = view["request_methods"] or ()
    return ({methods} if isinstance(methods, str) else set(methods)) - {"HEAD", "OPTIONS"}


def served_views(site: Site) -> Iterator[tuple[str, Resource, Any]]:
    """Yield (address, resource, introspectable) of every view, in the API and on the site."""
    entries = site.config.introspector.get_category("views") or ()
    views = [entry["introspectable"] for entry in entries if not entry["introspectable"]["exception_only"]]
    views = [view for view in views if IInterface.providedBy(view["context"])]
    request = Request.blank("/")
    request.registry = site.registry
    for place in find_places(Place("", root_factory(request))):
        path = _VARIABLE.sub("{}", place.path)
        for view in views:
            address = f"{path}/{view['name']}" if view["name"] else path
            same_side = view.get("is_api") == is_api_path(address)
            if same_side and view["context"].providedBy(place.resource):
                yield address or "/", place.resource, view


def calls(site: Site) -> set[Call]:
    """Return every call that has a view, in the API and on the site."""
    return {(method, address) for address, _, view in served_views(site) for method in methods_of(view)}


def for_programs(site: Site, served: set[Call]) -> set[Call]:
    """Return the calls that must be described: the API, files and feeds, but not the pages and their forms."""
    read = find_service(site.registry, Declarations).cross_origin
    return {
        (method, path)
        for method, path in served
        if is_api_path(path)
        or (method == "GET" and any(pattern.fullmatch(path.replace("{}", "1")) for pattern in read))
    }
