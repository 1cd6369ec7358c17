"""The parts of an OpenAPI document: operations with their parameters and responses, as JSON values."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from modhub.base.identity import CredentialKind
from modhub.base.operations import RANGED_FILE, FileBody, Operation, Parameter
from modhub.web.openapi_refusals import describe_refusals
from modhub.web.openapi_schemas import Schemas, content_of
from modhub.web.served_operations import ServedOperation

PARAMETER_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}
SECURITY_SCHEMES: Final = {
    CredentialKind.ACCOUNT: {
        "type": "http",
        "scheme": "bearer",
        "description": "The access token of a session, or of a publisher key.",
    },
    CredentialKind.MACHINE: {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "A machine key of a build agent.",
    },
    CredentialKind.ADDRESS: {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "The address key of the file-storage machine.",
    },
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
    return "\n\n".join([operation.about, *(["\n".join(listed)] if listed else [])])


def _is_cached(served: ServedOperation) -> bool:
    """Whether it is a public read with a validator (C-HTTP-9)."""
    is_public = served.credential is CredentialKind.NONE and not served.operation.signed_in_too
    return served.method == "GET" and is_public and served.operation.returns is not RANGED_FILE


def _headers_of_reads(served: ServedOperation) -> tuple[Parameter, ...]:
    if served.operation.returns is RANGED_FILE:
        return _OF_FILE_REQUESTS
    return (_IF_NONE_MATCH,) if _is_cached(served) else ()


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": PARAMETER_TYPES[parameter.kind]}
    if parameter.default is not None:
        schema["default"] = parameter.default
    described: dict[str, Any] = {"name": parameter.name, "in": place, "description": parameter.about, "schema": schema}
    if parameter.example is not None:
        described["example"] = parameter.example
    if place == "path" or parameter.required:
        described["required"] = True
    return described


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
    return {
        header.name: {"description": header.about, "schema": {"type": PARAMETER_TYPES[header.kind]}} for header in sent
    }


def _outcome(operation: Operation) -> str:
    if isinstance(operation.returns, FileBody):
        return operation.returns.about
    return "Done." if operation.returns is None else "The answer."
