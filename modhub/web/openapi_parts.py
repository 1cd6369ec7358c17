"""The parts of an OpenAPI document: operations, parameters, responses and schemas, as JSON values.

Rules of the contract that a schema must not contradict: unknown fields are ignored, so no schema closes its
properties (C-ERR-13); text over its limit is cut, so none has ``maxLength`` (C-TXT-3).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from modhub.base.identity import CredentialKind
from modhub.base.operations import RANGED_FILE, SCHEMA_OF, FileBody, Operation, Parameter, Refusal

_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}
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
_NO_KEY: Final = Refusal(401, "no_api_key", "The X-Api-Key header is missing.")
_UNKNOWN_KEY: Final = Refusal(401, "unknown_api_key", "The key is unknown, or not for this.")
_OF_CREDENTIALS: Final = {
    CredentialKind.NONE: (),
    CredentialKind.ACCOUNT: (
        Refusal(401, "unauthorized", "No valid token, or nothing of the caller's is at this address."),
        Refusal(403, "account_blocked", "The operator has blocked the account."),
    ),
    CredentialKind.MACHINE: (_NO_KEY, _UNKNOWN_KEY),
    CredentialKind.ADDRESS: (_NO_KEY, _UNKNOWN_KEY),
}
_OF_JSON: Final = (
    Refusal(400, "invalid_input", "The body is not a JSON object, or breaks a rule. The message names the field."),
    Refusal(413, "too_large", "The body is over its limit, which limitBytes names."),
)
_OF_FILES: Final = (
    Refusal(400, "invalid_input", "The body is empty or a multipart form, or a parameter breaks a rule."),
    Refusal(413, "too_large", "The file is over its limit, which limitBytes names."),
    Refusal(502, "storage_refused", "The file could not be stored. Try again."),
    Refusal(503, "storage_not_configured", "The operator has set up no file storage."),
)
_OF_STORED_FILES: Final = (
    Refusal(403, "not_for_embedding", "A browser wants to use the file as a script, style or worker of this site."),
    Refusal(412, "precondition_failed", "The file is another than If-Match or If-Unmodified-Since names."),
    Refusal(416, "range_not_satisfiable", "The range lies beyond the end."),
    Refusal(503, "storage_unreachable", "The file cannot be read right now."),
)
_BUSY: Final = Refusal(503, "busy", "Too much to do just now. Try again after Retry-After.")
ERROR_SCHEMA: Final = {
    "type": "object",
    "title": "Error",
    "description": "Why a call was refused. Further fields depend on the code. The refusals of keys have no message.",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "A code for programs, in snake case."},
        "message": {"type": "string", "description": "One sentence for people."},
        "limitBytes": {"type": "integer", "description": "With 413: the limit that was passed."},
        "retryAfterSeconds": {"type": "integer", "description": "With 429: how long to wait."},
    },
}
_ERROR: Final = {"$ref": SCHEMA_OF.format(name="Error")}
_ETAG: Final = {"description": "Names this answer; send it as If-None-Match.", "schema": {"type": "string"}}
_HEADERS_OF_FILES: Final = {
    "ETag": {"description": "The SHA-256 of the whole file, in quotes.", "schema": {"type": "string"}},
    "Repr-Digest": {"description": "The same in base64 (RFC 9530).", "schema": {"type": "string"}},
    "Content-Disposition": {"description": "The name to save it under.", "schema": {"type": "string"}},
    "Accept-Ranges": {"description": "bytes", "schema": {"type": "string"}},
}
_HEADERS_OF_ERRORS: Final = {
    401: {"WWW-Authenticate": {"description": "The credential that is needed.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
    503: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
}
_IF_NONE_MATCH: Final = Parameter("If-None-Match", "The ETag of what the caller has: 304 if it is still current.")
_OF_FILE_REQUESTS: Final = (
    _IF_NONE_MATCH,
    Parameter("If-Match", "The ETag of the file that is meant: 412 if it is another by now."),
    Parameter("Range", "One range of bytes: 206 with that part."),
    Parameter("If-Range", "The ETag of the file that the range continues: else the whole new file is sent."),
)


def describe_operation(
    operation: Operation, method: str, credential: CredentialKind, segments: Sequence[Parameter], tag: str
) -> dict[str, Any]:
    """An OpenAPI operation; ``segments`` are the variable segments of its address."""
    is_cached = _is_cached(operation, method, credential)
    headers = [*operation.headers, *_headers_of_reads(operation, is_cached=is_cached)]
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.about.partition(". ")[0].removesuffix(".") + ".",
        "description": _description(operation),
        "tags": [tag],
        "parameters": [
            *(_parameter(segment, "path") for segment in segments),
            *(_parameter(parameter, "query") for parameter in operation.parameters),
            *(_parameter(header, "header") for header in headers),
        ],
        "responses": _responses(operation, credential, is_cached=is_cached),
    }
    if operation.takes is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.takes)}
    described["security"] = _security(operation, credential)
    return {name: value for name, value in described.items() if value or name == "security"}


def _description(operation: Operation) -> str:
    clauses = f"\n\nClauses of the contract: {', '.join(operation.clauses)}." if operation.clauses else ""
    return operation.about + clauses


def _is_cached(operation: Operation, method: str, credential: CredentialKind) -> bool:
    """Whether it is a public read with a validator (C-HTTP-1)."""
    is_public = credential is CredentialKind.NONE and not operation.signed_in_too
    return method == "GET" and is_public and operation.returns is not RANGED_FILE


def _headers_of_reads(operation: Operation, *, is_cached: bool) -> tuple[Parameter, ...]:
    if operation.returns is RANGED_FILE:
        return _OF_FILE_REQUESTS
    return (_IF_NONE_MATCH,) if is_cached else ()


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[parameter.kind]}
    if parameter.default is not None:
        schema["default"] = parameter.default
    described: dict[str, Any] = {"name": parameter.name, "in": place, "description": parameter.about, "schema": schema}
    if place == "path" or parameter.required:
        described["required"] = True
    return described


def _security(operation: Operation, credential: CredentialKind) -> list[dict[str, list[str]]]:
    if credential is not CredentialKind.NONE:
        return [{credential: []}]
    return [{}, {CredentialKind.ACCOUNT: []}] if operation.signed_in_too else []


def _responses(operation: Operation, credential: CredentialKind, *, is_cached: bool) -> dict[str, Any]:
    success: dict[str, Any] = {"description": _outcome(operation)}
    if operation.returns is not None:
        success["content"] = _content(operation.returns)
    responses: dict[str, Any] = {}
    if operation.returns is RANGED_FILE:
        success["headers"] = _HEADERS_OF_FILES
        responses["206"] = {**success, "description": "The range that was asked for."}
    elif is_cached:
        success["headers"] = {"ETag": _ETAG}
    if is_cached or operation.returns is RANGED_FILE:
        responses["304"] = {"description": "The caller has it already."}
    for status in (operation.status, *operation.also):
        responses[str(status)] = success
    for status, refusals in _by_status(operation, credential):
        responses[str(status)] = _refused(status, refusals)
    responses["default"] = {"description": "Another error.", "content": {"application/json": {"schema": _ERROR}}}
    return dict(sorted(responses.items()))


def _outcome(operation: Operation) -> str:
    if isinstance(operation.returns, FileBody):
        return operation.returns.about
    return "Done." if operation.returns is None else "The answer."


def refusals_of(operation: Operation, credential: CredentialKind) -> list[Refusal]:
    """All refusals of a call: its own, and those that follow from its credential and its bodies."""
    of_body = () if operation.takes is None else _OF_FILES if isinstance(operation.takes, FileBody) else _OF_JSON
    of_file = _OF_STORED_FILES if operation.returns is RANGED_FILE else ()
    own = {(refusal.status, refusal.code) for refusal in operation.refusals}
    common = (*_OF_CREDENTIALS[credential], *of_body, *of_file, _BUSY)
    return [*operation.refusals, *(refusal for refusal in common if (refusal.status, refusal.code) not in own)]


def _by_status(operation: Operation, credential: CredentialKind) -> Iterator[tuple[int, list[Refusal]]]:
    refusals = refusals_of(operation, credential)
    for status in sorted({refusal.status for refusal in refusals}):
        yield status, [refusal for refusal in refusals if refusal.status == status]


def _refused(status: int, refusals: Sequence[Refusal]) -> dict[str, Any]:
    examples = {refusal.code: {"summary": refusal.about, "value": _example(refusal)} for refusal in refusals}
    response = {
        "description": "\n".join(f"`{refusal.code}`: {refusal.about}" for refusal in refusals),
        "content": {"application/json": {"schema": _ERROR, "examples": examples}},
    }
    headers = _HEADERS_OF_ERRORS.get(status)
    return {**response, "headers": headers} if headers else response


def _example(refusal: Refusal) -> dict[str, str]:
    """The body, without what depends on the call. The refusals of keys have no sentence (C-ERR-2)."""
    message = {} if refusal in {_NO_KEY, _UNKNOWN_KEY} else {"message": refusal.about}
    return {"error": refusal.code, **message}


def _content(body: Any) -> dict[str, Any]:
    if isinstance(body, FileBody):
        return {body.content_type: {"schema": {}}}
    (schema,), _ = msgspec.json.schema_components([body], ref_template=SCHEMA_OF)
    return {"application/json": {"schema": schema}}


def schemas_of(operations: Iterable[Operation]) -> dict[str, Any]:
    """The schemas of all bodies, by name."""
    bodies = [body for operation in operations for body in (operation.takes, operation.returns, *operation.schemas)]
    structs = [body for body in bodies if body is not None and not isinstance(body, FileBody)]
    _, components = msgspec.json.schema_components(list(dict.fromkeys(structs)), ref_template=SCHEMA_OF)
    return dict(sorted({**components, "Error": ERROR_SCHEMA}.items()))
