"""The refusals of a call: its own, and those that follow from its credential, its bodies and its address."""

from collections.abc import Sequence
from typing import Any, Final

from modhub.base.identity import CredentialKind
from modhub.base.operations import RANGED_FILE, SCHEMA_OF, FileBody, Operation, Refusal
from modhub.web.openapi_schemas import ERROR_NAME, Schemas, example_of, schema_of
from modhub.web.served_operations import ServedOperation

_BLOCKED: Final = Refusal(403, "account_blocked", "The operator has blocked the account.")
NO_KEY: Final = Refusal(401, "no_api_key", "The `X-Api-Key` header is missing.")
UNKNOWN_KEY: Final = Refusal(401, "unknown_api_key", "The key is wrong, old or without the scope.")
_OF_CREDENTIALS: Final = {
    CredentialKind.NONE: (),
    CredentialKind.ACCOUNT: (
        Refusal(401, "unauthorized", "No valid token, or nothing of the caller's is at this address."),
        _BLOCKED,
    ),
    CredentialKind.MACHINE: (NO_KEY, UNKNOWN_KEY),
    CredentialKind.ADDRESS: (NO_KEY, UNKNOWN_KEY),
}
_OF_JSON: Final = (
    Refusal(400, "invalid_input", "The body is not a JSON object, or breaks a rule. The message names the field."),
    Refusal(413, "too_large", "The body is over its limit, which `limitBytes` names."),
)
_OF_UPLOADS: Final = (
    Refusal(400, "invalid_input", "The body is empty or a multipart form, or a parameter breaks a rule."),
    Refusal(413, "too_large", "The file is over its limit, which `limitBytes` names."),
)
_OF_STORING: Final = (
    Refusal(502, "storage_refused", "The file could not be stored. Try again."),
    Refusal(503, "storage_not_configured", "The operator has set up no file storage; there is no `Retry-After`."),
)
_OF_STORED_FILES: Final = (
    Refusal(403, "not_for_embedding", "A browser wants to use the file as a script, style or worker of this site."),
    Refusal(412, "precondition_failed", "The file is another than `If-Match` or `If-Unmodified-Since` names."),
    Refusal(416, "range_not_satisfiable", "The range lies beyond the end."),
    Refusal(503, "storage_unreachable", "The file cannot be read right now."),
)
_BUSY: Final = Refusal(503, "busy", "Too much to do just now. Try again after `Retry-After`.")
_FAULT: Final = Refusal(500, "internal_error", "A fault of the service; it has been logged.")
_ERROR: Final = {"$ref": SCHEMA_OF.format(name=ERROR_NAME)}
_PAGE: Final = {"text/html": {"schema": {"type": "string"}}, "application/json": {"schema": _ERROR}}
"""Outside of the API, errors are pages for people, of files also JSON for programs whose ``Accept`` prefers it."""
_HEADERS: Final = {
    401: {"WWW-Authenticate": {"description": "The credential that is needed.", "schema": {"type": "string"}}},
    416: {"Content-Range": {"description": "How many bytes there are.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
    503: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
}


def _of_body(operation: Operation) -> tuple[Refusal, ...]:
    if operation.takes is None or operation.takes_anything:
        return ()
    if not isinstance(operation.takes, FileBody):
        return _OF_JSON
    return _OF_UPLOADS if operation.takes.is_text else (*_OF_UPLOADS, *_OF_STORING)


def refusals_of(operation: Operation, credential: CredentialKind) -> list[Refusal]:
    """All refusals of a call: its own, and those that follow from its credential and bodies and are not among these."""
    of_file = _OF_STORED_FILES if operation.returns is RANGED_FILE else ()
    own = {(refusal.status, refusal.code) for refusal in operation.refusals}
    common = (*_OF_CREDENTIALS[credential], *_of_body(operation), *of_file, _BUSY)
    own |= {(_BLOCKED.status, _BLOCKED.code)} if operation.blocked_too else set()
    return [*operation.refusals, *(refusal for refusal in common if (refusal.status, refusal.code) not in own)]


def describe_refusals(served: ServedOperation, schemas: Schemas) -> dict[str, dict[str, Any]]:
    """The responses of all refusals of a call, by status, and of any other error."""
    refusals = refusals_of(served.operation, served.credential)
    responses = {
        str(status): _response(served, status, [refusal for refusal in refusals if refusal.status == status], schemas)
        for status in sorted({refusal.status for refusal in refusals})
    }
    if served.is_api and [refusal for refusal in refusals if refusal.status == _BUSY.status] == [_BUSY]:
        responses[str(_BUSY.status)] = _shared("Busy")
    return {**responses, "default": _shared("OtherError" if served.is_api else "OtherErrorPage")}


def shared_responses() -> dict[str, dict[str, Any]]:
    """The responses that many calls have, by name."""
    return {
        "Busy": _json_response([_BUSY], {}),
        "OtherError": {
            "description": "Another error.",
            "content": {"application/json": {"schema": _ERROR, "example": _example(_FAULT, {})}},
        },
        "OtherErrorPage": {"description": "Another error.", "content": _PAGE},
    }


def _shared(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}


def _response(served: ServedOperation, status: int, refusals: Sequence[Refusal], schemas: Schemas) -> dict[str, Any]:
    if served.is_api:
        return _json_response(refusals, schemas)
    response = {"description": "\n".join(refusal.about for refusal in refusals), "content": _PAGE}
    return response | _headers_of(status)


def _json_response(refusals: Sequence[Refusal], schemas: Schemas) -> dict[str, Any]:
    bodies = [_ERROR if refusal.body is None else schema_of(refusal.body) for refusal in refusals]
    different = [body for position, body in enumerate(bodies) if body not in bodies[:position]]
    schema = different[0] if len(different) == 1 else {"anyOf": different}
    examples = {refusal.code: {"value": _example(refusal, schemas)} for refusal in refusals}
    response = {
        "description": "\n".join(f"`{refusal.code}`: {refusal.about}" for refusal in refusals),
        "content": {"application/json": {"schema": schema, "examples": examples}},
    }
    return response | _headers_of(refusals[0].status)


def _headers_of(status: int) -> dict[str, Any]:
    return {"headers": _HEADERS[status]} if status in _HEADERS else {}


def _example(refusal: Refusal, schemas: Schemas) -> dict[str, Any]:
    """The body, whose sentence is not the one that the service writes. Those of keys have none (C-KEY-2)."""
    own = {} if refusal.body is None else example_of(schema_of(refusal.body), schemas, whole=True)
    fields = {413: {"limitBytes": refusal.limit}, 429: {"retryAfterSeconds": 840}}.get(refusal.status, {})
    message = {} if refusal in {NO_KEY, UNKNOWN_KEY} else {"message": refusal.about.replace("`", "")}
    return {**own, **fields, "error": refusal.code, **message}
