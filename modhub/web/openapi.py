"""``GET /api/openapi.json``: the API of the enabled features in OpenAPI 3.1, made from what the code declares.

Addresses come from the resource tree, methods and credentials from the views, bodies from their Structs, and the rest
from the :class:`modhub.base.operations.Operation` of each view. Nothing here is read when a request is checked: what
the views do is proved by tests. Made at the first request and kept as bytes.
"""

from importlib.metadata import version
from threading import Lock
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.operations import Operation
from modhub.content.text import N_
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import IApi
from modhub.web.clauses import read_clauses
from modhub.web.openapi_parts import SECURITY_SCHEMES, describe_operation
from modhub.web.openapi_refusals import shared_responses
from modhub.web.openapi_schemas import schemas_of
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.served_operations import find_operations
from modhub.web.views import OPEN, api

OPENAPI: Final = "3.1.0"
CATALOGUE: Final = N_("Mods")
REFERENCE: Final = "/Modhub/doc"
ABOUT_THE_API: Final = """\
Reading and downloading needs no account. Fields may be added to answers: ignore those that you do not know. \
`HEAD` works wherever `GET` does. In bodies, `null` for an optional field means that it is not sent, unless the field \
says otherwise; text that is too long is cut. Each answer has an `X-Request-Id`."""


def describe_api(request: Request) -> dict[str, Any]:
    """The description as JSON values."""
    settings = request.registry.settings
    titles = {feature.name: feature.title for feature in request.find_service(Declarations).features}
    operations = find_operations(request)
    schemas = schemas_of(served.operation for served in operations)
    clauses = {package: read_clauses(package) for package in {served.package for served in operations}}
    paths: dict[str, dict[str, Any]] = {}
    for served in operations:
        tag = titles.get(served.package, CATALOGUE)
        described = describe_operation(served, tag, schemas, clauses[served.package])
        paths.setdefault(served.path, {})[served.method.lower()] = described
    tags = {CATALOGUE: None} | dict.fromkeys(titles.get(served.package, CATALOGUE) for served in operations)
    return {
        "openapi": OPENAPI,
        "info": {"title": settings["modhub.site_name"], "version": version("modhub"), "description": ABOUT_THE_API},
        "servers": [{"url": settings["modhub.base_url"]}],
        "externalDocs": {"description": "The reference for people", "url": settings["modhub.base_url"] + REFERENCE},
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": shared_responses(),
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def encode_description(request: Request) -> bytes:
    """The description as JSON. Links to parts of the reference, as in ``[HTML](#html)``, are absolute."""
    reference = request.registry.settings["modhub.base_url"] + REFERENCE
    return encode(describe_api(request)).replace(b"](#", f"]({reference}#".encode())


class ApiDescription:
    """The bytes of the description, made once in each process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._body = b""

    def body(self, request: Request) -> bytes:
        """The description as JSON."""
        with self._lock:
            if not self._body:
                self._body = encode_description(request)
            return self._body


@api(
    context=IApi,
    name="openapi.json",
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="read_api_description",
        about="This description of the API. It covers the features that this service has.",
        returns=dict[str, Any],
        clauses=("C-API-1", "C-API-2", "C-API-3"),
    ),
)
def read_description_view(_context: Any, request: Request) -> Response:
    """``GET /api/openapi.json``"""
    return public_json(request.find_service(ApiDescription).body(request))


def includeme(config: Configurator) -> None:
    """Register the view and its service."""
    config.add_service(ApiDescription, ApiDescription())
    config.scan(__name__)
