"""``GET /api/openapi.json``: the API of the enabled features in OpenAPI 3.1, made from what the code declares.

Addresses come from the resource tree, methods and credentials from the views, bodies from their Structs, and the rest
from the :class:`modhub.base.operations.Operation` of each view. Nothing here is read when a request is checked: what
the views do is proved by tests. Made at the first request and kept as bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from threading import Lock
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response
from zope.interface.interfaces import IInterface

from modhub.base.identity import CredentialKind, Permission
from modhub.base.operations import Operation, Parameter
from modhub.declarations import Declarations
from modhub.http.payload import encode
from modhub.http.request import Request, is_api_path
from modhub.http.responses import public_json
from modhub.interfaces import IApi
from modhub.web.openapi_parts import SECURITY_SCHEMES, describe_operation, schemas_of
from modhub.web.traversal import ANY, Resource, root_factory
from modhub.web.views import OPEN, api

OPENAPI: Final = "3.1.0"
_ANY_NAME: Final = "1"
"""A segment that every collection has a member for: resources are made without asking for rows."""
_UNDESCRIBED_METHODS: Final = {"HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Place:
    """An address with ``{name}`` for each variable segment, its resource, and its variable segments."""

    path: str
    resource: Resource
    segments: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedOperation:
    """One method of one address, and what its view declares."""

    path: str
    method: str
    segments: tuple[Parameter, ...]
    operation: Operation
    credential: CredentialKind
    package: str


def find_places(request: Request) -> Iterator[Place]:
    """Yield every node of the resource tree once."""
    waiting = [Place("", root_factory(request))]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += _below(place)


def _below(place: Place) -> Iterator[Place]:
    resource = place.resource
    for name, make in resource.children.items():
        if name == ANY:
            continue
        try:
            child = make(resource, name)
        except KeyError:  # only there for some callers
            continue
        yield Place(f"{place.path}/{name}", child, place.segments)
    try:
        member = resource.get_member(_ANY_NAME)
    except KeyError:
        return
    segment = member.segment
    if segment is not None:
        yield Place(f"{place.path}/{{{segment.name}}}", member, (*place.segments, segment))


def find_operations(request: Request) -> list[ServedOperation]:
    """The described calls that the application serves, each at one address."""
    entries = request.registry.introspector.get_category("views") or ()
    views = [
        (entry["introspectable"], _credential_of(entry["related"]))
        for entry in entries
        if entry["introspectable"].get("operation") and IInterface.providedBy(entry["introspectable"]["context"])
    ]
    served: list[ServedOperation] = []
    for place in find_places(request):
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
    for position, method in enumerate((methods,) if isinstance(methods, str) else methods):
        if method in _UNDESCRIBED_METHODS:
            continue
        named = operation if position == 0 else operation.renamed(f"{operation.id}_by_{method.lower()}")
        yield ServedOperation(path, method, place.segments, named, credential, package)


def _at_one_address(operations: Iterable[ServedOperation]) -> list[ServedOperation]:
    """Each call once, by address: of a view at several addresses, the shortest."""
    shortest: dict[str, ServedOperation] = {}
    for served in sorted(operations, key=lambda served: (len(served.path), served.path), reverse=True):
        shortest[served.operation.id] = served
    return sorted(shortest.values(), key=lambda served: (served.path, served.method))


def describe_api(request: Request) -> dict[str, Any]:
    """The description as JSON values."""
    settings = request.registry.settings
    declarations = request.find_service(Declarations)
    titles = {feature.name: feature.title for feature in declarations.features}
    operations = find_operations(request)
    paths: dict[str, dict[str, Any]] = {}
    for served in operations:
        tag = titles.get(served.package, "Mods")
        paths.setdefault(served.path, {})[served.method.lower()] = describe_operation(
            served.operation, served.method, served.credential, served.segments, tag
        )
    tags = dict.fromkeys(titles.get(served.package, "Mods") for served in operations)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": settings["modhub.site_name"],
            "version": version("modhub"),
            "description": "Reading and downloading needs no account. Fields may be added to answers.",
        },
        "servers": [{"url": settings["modhub.base_url"]}],
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": schemas_of(served.operation for served in operations),
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


class ApiDescription:
    """The bytes of the description, made once in each process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._body = b""

    def body(self, request: Request) -> bytes:
        """The description as JSON."""
        with self._lock:
            if not self._body:
                self._body = encode(describe_api(request))
            return self._body


@api(
    context=IApi,
    name="openapi.json",
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="read_api_description",
        about="This description. It covers the features that this service has.",
        returns=dict[str, Any],
    ),
)
def read_description_view(_context: Any, request: Request) -> Response:
    """``GET /api/openapi.json``"""
    return public_json(request.find_service(ApiDescription).body(request))


def includeme(config: Configurator) -> None:
    """Register the view and its service."""
    config.add_service(ApiDescription, ApiDescription())
    config.scan(__name__)
