"""Which described calls an application serves, and where: the views that declare an operation, on the resource tree."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from zope.interface.interfaces import IInterface

from modhub.base.identity import CredentialKind, Permission
from modhub.base.operations import Operation, Parameter
from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations
from modhub.web.request import Request, is_api_path
from modhub.web.traversal import ANY, Resource, root_factory

_ANY_NAME: Final = "1"
"""A segment that every collection has a member for: resources are made without asking for rows."""
_UNDESCRIBED_METHODS: Final = {"HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Place:
    """An address with ``{name}`` for each variable segment, its resource, and its variable segments.

    A segment that only pages have is ``{}``: nothing describes it.
    """

    path: str
    resource: Resource
    segments: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedOperation:
    """One method of one address, and what its view declares; ``package`` is the one that the view is in."""

    path: str
    method: str
    segments: tuple[Parameter, ...]
    operation: Operation
    credential: CredentialKind
    package: str

    @property
    def is_api(self) -> bool:
        """Whether its errors are JSON; elsewhere they are pages (C-ERR-3)."""
        return is_api_path(self.path)


def find_places(place: Place) -> Iterator[Place]:
    """Yield a node of the resource tree, and all below it."""
    yield place
    resource = place.resource
    for name, make in resource.children.items():
        if name == ANY:
            continue
        try:
            child = make(resource, name)
        except KeyError:  # only there for some callers
            continue
        yield from find_places(Place(f"{place.path}/{name}", child, place.segments))
    try:
        member = resource.get_member(_ANY_NAME)
    except KeyError:
        return
    segments = () if member.segment is None else (member.segment,)
    name = "".join(segment.name for segment in segments)
    yield from find_places(Place(f"{place.path}/{{{name}}}", member, (*place.segments, *segments)))


def find_operations(request: Request) -> list[ServedOperation]:
    """The described calls that the application serves, each at one address."""
    entries = request.registry.introspector.get_category("views") or ()
    views = [
        (entry["introspectable"], _credential_of(entry["related"]))
        for entry in entries
        if entry["introspectable"].get("operation") and IInterface.providedBy(entry["introspectable"]["context"])
    ]
    served: list[ServedOperation] = []
    for place in find_places(Place("", root_factory(request))):
        for view, credential in views:
            path = f"{place.path}/{view['name']}" if view["name"] else place.path
            if view["context"].providedBy(place.resource) and view.get("is_api") == is_api_path(path):
                served += _methods(path, place, view, credential)
    return _at_one_address(served)


def _credential_of(related: Iterable[Any]) -> CredentialKind:
    """The credential that the permission of a view requires; ``related`` are its other introspectables."""
    for introspectable in related:
        if introspectable.category_name == "permissions" and isinstance(introspectable["value"], Permission):
            return introspectable["value"].credential
    return CredentialKind.NONE


def _methods(path: str, place: Place, view: Any, credential: CredentialKind) -> Iterator[ServedOperation]:
    package = view["callable"].__module__.partition(".")[0]
    methods = view["request_methods"]
    operation: Operation = view["operation"]
    added = find_service(place.resource.request.registry, Declarations).refusals.get(operation.id, ())
    operation = replace(operation, refusals=(*operation.refusals, *added))
    for position, method in enumerate((methods,) if isinstance(methods, str) else methods):
        if method in _UNDESCRIBED_METHODS:
            continue
        named = operation if position == 0 else replace(operation, id=f"{operation.id}_by_{method.lower()}")
        yield ServedOperation(path, method, place.segments, named, credential, package)


def _at_one_address(operations: Iterable[ServedOperation]) -> list[ServedOperation]:
    """Each call once, by address: of a view at several addresses, the shortest."""
    shortest: dict[str, ServedOperation] = {}
    for served in sorted(operations, key=lambda served: (len(served.path), served.path), reverse=True):
        shortest[served.operation.id] = served
    return sorted(shortest.values(), key=lambda served: (served.path, served.method))
