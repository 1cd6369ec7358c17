"""``GET /api/openapi.json``: the API of the enabled features in OpenAPI 3.1, made from what the code declares.

Addresses come from the resource tree, methods and credentials from the views, bodies from their Structs, and the rest
from the :class:`modhub.base.operations.Operation` of each view. Nothing here is read when a request is checked: what
the views do is proved by tests. Made at the first request and kept as bytes.
"""

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.identity import CredentialKind
from modhub.base.operations import RANGED_FILE, FileBody, Operation, Parameter
from modhub.content.text import N_
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import IApi
from modhub.web.openapi_refusals import describe_refusals, shared_responses
from modhub.web.openapi_schemas import Schemas, content_of, schemas_of
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.served_operations import ServedOperation, find_operations
from modhub.web.views import OPEN

_OPENAPI: Final = "3.1.0"
CATALOGUE: Final = N_("Mods")
REFERENCE: Final = "/Modhub/doc"
_ABOUT: Final = """\
Reading and downloading needs no account. Fields may be added to answers: ignore those that you do not know. \
`HEAD` works wherever `GET` does. In bodies, `null` for an optional field means that it is not sent, unless the field \
says otherwise; text that is too long is cut. Each answer has an `X-Request-Id`."""
_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}
_KEY: Final = {"type": "apiKey", "in": "header", "name": "X-Api-Key"}
_SECURITY_SCHEMES: Final = {
    CredentialKind.ACCOUNT: {
        "type": "http",
        "scheme": "bearer",
        "description": "The access token of a session, or of a publisher key.",
    },
    CredentialKind.MACHINE: {**_KEY, "description": "A machine key of a build agent."},
    CredentialKind.ADDRESS: {**_KEY, "description": "The address key of the file-storage machine."},
}
_ETAG: Final = Parameter("ETag", "Names this answer; send it as `If-None-Match`.")
_OF_FILES: Final = (
    Parameter("ETag", "The SHA-256 of the whole file, in quotes."),
    Parameter("Repr-Digest", "The same in base64, of the whole file also on a part of it (RFC 9530)."),
    Parameter("Last-Modified", "When it was stored."),
    Parameter("Content-Disposition", "The name to save it under."),
    Parameter("Accept-Ranges", "`bytes`"),
)
_CONTENT_RANGE: Final = Parameter("Content-Range", "Which bytes these are.")
_IF_NONE_MATCH: Final = Parameter("If-None-Match", "The ETag of what the caller has: 304 if it is still current.")
_OF_FILE_REQUESTS: Final = (
    _IF_NONE_MATCH,
    Parameter("If-Match", "The ETag of the file that is meant: 412 if it is another by now."),
    Parameter("If-Modified-Since", "As `If-None-Match`, by time; `If-None-Match` goes first."),
    Parameter("If-Unmodified-Since", "As `If-Match`, by time; `If-Match` goes first."),
    Parameter("Range", "One range of bytes: 206 with that part."),
    Parameter("If-Range", "The ETag of the file that the range continues: else the whole new file is sent."),
)
_CLAUSE: Final = re.compile(r"(?m)^- \*\*(C-[A-Z]+-\d+)\*\* (.*(?:\n  \S.*)*)")
"""A clause of the contract; its further lines are indented."""


def describe_api(request: Request) -> Any:
    """The description as JSON values."""
    settings = request.registry.settings
    titles = {feature.name: feature.title for feature in request.find_service(Declarations).features}
    operations = find_operations(request)
    schemas = schemas_of(served.operation for served in operations)
    contract = read_contract()
    tags, paths = [CATALOGUE], dict[str, dict[str, Any]]()
    for served in operations:
        tags.append(titles.get(served.package, CATALOGUE))
        described = describe_operation(served, tags[-1], schemas, contract)
        paths.setdefault(served.path, {})[served.method.lower()] = described
    return _widened(
        {
            "openapi": _OPENAPI,
            "info": {"title": settings["modhub.site_name"], "version": version("modhub"), "description": _ABOUT},
            "servers": [{"url": settings["modhub.base_url"]}],
            "externalDocs": {"description": "The reference for people", "url": settings["modhub.base_url"] + REFERENCE},
            "tags": [{"name": tag} for tag in dict.fromkeys(tags)],
            "paths": paths,
            "components": {
                "schemas": schemas,
                "responses": shared_responses(),
                "securitySchemes": _SECURITY_SCHEMES,
            },
        }
    )


def _widened(part: Any) -> Any:
    """The same, where each number is an integer of 64 bits: typed languages take 32 else, and ids and bytes have more.

    None has a fraction: ``1.0`` is an integer to JSON Schema, and ``number`` gives Java what does not compile.
    """
    if isinstance(part, Mapping):
        width = {"type": "integer", "format": "int64"} if part.get("type") in {"integer", "number"} else {}
        return {name: _widened(inner) for name, inner in part.items()} | width
    return list(map(_widened, part)) if isinstance(part, list | tuple) else part


def encode_description(request: Request) -> bytes:
    """The description as JSON. Links to parts of the reference, as in ``[HTML](#html)``, are absolute."""
    reference = request.registry.settings["modhub.base_url"] + REFERENCE
    return encode(describe_api(request)).replace(b"](#", f"]({reference}#".encode())


def read_contract() -> dict[str, str]:
    """The texts of the contract's clauses by id, each in one line."""
    text = files("modhub").joinpath("contract.md").read_text("utf-8")
    return {clause: " ".join(lines.split()) for clause, lines in _CLAUSE.findall(text)}


def describe_operation(
    served: ServedOperation, tag: str, schemas: Schemas, clauses: Mapping[str, str]
) -> dict[str, Any]:
    """An OpenAPI operation; ``clauses`` are the texts by id."""
    operation = served.operation
    headers = [*operation.headers, *_headers_of_reads(served)]
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.about.partition(". ")[0].removesuffix(".").replace("`", "") + ".",
        "description": _description(operation, clauses),
        "tags": [tag],
        "parameters": [
            *(_parameter(segment, "path") for segment in served.segments),
            *(_parameter(parameter, "query") for parameter in operation.parameters),
            *(_parameter(header, "header") for header in headers),
        ],
        "responses": dict(sorted({**describe_refusals(served, schemas), **_successes(served, schemas)}.items())),
    }
    if operation.takes is not None:
        described["requestBody"] = {
            "required": not operation.takes_anything,
            "content": content_of(operation.takes, schemas, sent=True),
        }
    described["security"] = _security(served)
    return {name: value for name, value in described.items() if value or name == "security"}


def _description(operation: Operation, clauses: Mapping[str, str]) -> str:
    """What it does, and the clauses of the contract as a list in Markdown."""
    listed = [f"- **{clause}** {clauses.get(clause, '')}".rstrip() for clause in operation.clauses]
    return "\n\n".join(part for part in (operation.about, "\n".join(listed)) if part)


def _is_cached(served: ServedOperation) -> bool:
    """Whether it is a public read with a validator (C-HTTP-9)."""
    is_public = served.credential is CredentialKind.NONE and not served.operation.signed_in_too
    return served.method == "GET" and is_public and served.operation.returns is not RANGED_FILE


def _headers_of_reads(served: ServedOperation) -> tuple[Parameter, ...]:
    if served.operation.returns is RANGED_FILE:
        return _OF_FILE_REQUESTS
    return (_IF_NONE_MATCH,) if _is_cached(served) else ()


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    default = {} if parameter.default is None else {"default": parameter.default}
    return {
        "name": parameter.name,
        "in": place,
        "description": parameter.about,
        "schema": {"type": _TYPES[parameter.kind], **default},
        **({} if parameter.example is None else {"example": parameter.example}),
        **({"required": True} if place == "path" or parameter.required else {}),
    }


def _security(served: ServedOperation) -> list[dict[str, list[str]]]:
    if served.credential is not CredentialKind.NONE:
        return [{served.credential: []}]
    return [{}, {CredentialKind.ACCOUNT: []}] if served.operation.signed_in_too else []


def _successes(served: ServedOperation, schemas: Schemas) -> dict[str, Any]:
    operation, is_cached = served.operation, _is_cached(served)
    is_file = operation.returns is RANGED_FILE
    success: dict[str, Any] = {"description": _outcome(operation)}
    sent = (*operation.sends, *(_OF_FILES if is_file else (_ETAG,) if is_cached else ()))
    if sent:
        success["headers"] = _headers(sent)
    if operation.returns is not None:
        success["content"] = content_of(operation.returns, schemas, sent=False)
    if operation.leads_to:
        success["links"] = {
            lead.operation: {"operationId": lead.operation, "parameters": lead.parameters}
            for lead in operation.leads_to
        }
    responses = {str(status): success for status in (operation.status, *operation.also)}
    if is_file:
        part = {**success, "description": "The range that was asked for.", "headers": _headers((*sent, _CONTENT_RANGE))}
        responses["206"] = part
    if is_file or is_cached:
        responses["304"] = {"description": "The caller has it already.", "headers": _headers((_ETAG,))}
    return responses


def _headers(sent: Iterable[Parameter]) -> dict[str, Any]:
    return {header.name: {"description": header.about, "schema": {"type": _TYPES[header.kind]}} for header in sent}


def _outcome(operation: Operation) -> str:
    if isinstance(operation.returns, FileBody):
        return operation.returns.about
    return "Done." if operation.returns is None else "The answer."


class ApiDescription:
    """The view, which makes the description when it is first read and keeps it."""

    def __init__(self) -> None:
        self._body = b""

    def body(self, request: Request) -> bytes:
        """The description as JSON."""
        self._body = self._body or encode_description(request)
        return self._body

    def read(self, _context: Any, request: Request) -> Response:
        """``GET /api/openapi.json``"""
        return public_json(self.body(request))


def includeme(config: Configurator) -> None:
    """Add the view."""
    config.add_view(
        ApiDescription().read,
        context=IApi,
        name="openapi.json",
        request_method="GET",
        permission=OPEN,
        is_api=True,
        response_cache=True,
        operation=Operation(
            id="read_api_description",
            about="This description of the API. It covers the features that this service has.",
            returns=dict[str, Any],
            clauses=("C-API-1", "C-API-2", "C-API-3"),
        ),
    )
