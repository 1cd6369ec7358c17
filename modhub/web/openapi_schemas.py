"""The schemas and the examples of bodies in the description, as JSON values.

Rules of the contract that a schema must not contradict: unknown fields are ignored, so no schema closes its
properties (C-ERR-13); text over its limit is cut, so none has ``maxLength`` (C-TXT-1).
"""

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec

from modhub.base.operations import RANGED_FILE, SCHEMA_OF, FileBody, Operation

Schemas = Mapping[str, dict[str, Any]]
_COMPONENTS: Final = SCHEMA_OF.format(name="")
_TEXT: Final = {"type": "string"}
_BYTES: Final = {"type": "string", "format": "binary"}
"""OpenAPI 3.1 needs no schema for bytes, but generators make files and streams of this one alone."""
_ANY_BYTES: Final = "application/octet-stream"
"""Taken for text too: not every generator can send text."""
_STORED_TYPE: Final = "*/*"
"""A file has the type that was sent with it."""
ERROR_NAME: Final = "Error"
ERROR_SCHEMA: Final = {
    "type": "object",
    "title": ERROR_NAME,
    "description": "Why a call was refused. Further fields depend on the code. The refusals of keys have no message.",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "A code for programs, in snake case."},
        "message": {"type": "string", "description": "One sentence for people."},
        "limitBytes": {"type": "integer", "description": "With 413: the limit that was passed."},
        "usedBytes": {"type": "integer", "description": "With 413 beyond a quota: what the account's files take up."},
        "limit": {"type": "integer", "description": "With 429 `quota`: the files that may be uploaded in an hour."},
        "retryAfterSeconds": {"type": "integer", "description": "With 429: how long to wait."},
    },
}


def schemas_of(operations: Iterable[Operation]) -> dict[str, dict[str, Any]]:
    """The schemas of all bodies, by name."""
    bodies = [
        body
        for operation in operations
        for body in (
            operation.takes,
            operation.returns,
            *operation.schemas,
            *(refusal.body for refusal in operation.refusals),
        )
    ]
    structs = [body for body in bodies if body is not None and not isinstance(body, FileBody)]
    _, components = msgspec.json.schema_components(list(dict.fromkeys(structs)), ref_template=SCHEMA_OF)
    for schema in components.values():
        # That of a class is indented: in Markdown its second paragraph would be code.
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
    return dict(sorted({**components, ERROR_NAME: ERROR_SCHEMA}.items()))


def schema_of(body: Any) -> dict[str, Any]:
    """The schema of a body, by reference if it is a Struct."""
    (schema,), _ = msgspec.json.schema_components([body], ref_template=SCHEMA_OF)
    return schema


def example_of(schema: Mapping[str, Any], schemas: Schemas, *, whole: bool) -> Any:
    """An example, put together from those of the fields; None if they have none.

    ``whole``: with fields that may be left out.
    """
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].removeprefix(_COMPONENTS)], schemas, whole=whole)
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], schemas, whole=whole)
    if schema.get("type") == "array":
        return [example_of(schema["items"], schemas, whole=whole)]
    fields = schema.get("properties", {})
    names = fields if whole else [name for name in fields if name in schema["required"]]
    return {name: example_of(fields[name], schemas, whole=whole) for name in names} if fields else None


def content_of(body: Any, schemas: Schemas, *, sent: bool) -> dict[str, Any]:
    """The content of a request (``sent``) or of a response: its media type, schema and example."""
    if isinstance(body, FileBody):
        own = {body.content_type: {"schema": _TEXT}} if body.is_text else {}
        as_bytes = {_ANY_BYTES: {"schema": _BYTES}} if sent or not own else {}
        stored = {_STORED_TYPE: {"schema": _BYTES}} if body is RANGED_FILE else {}
        return own | as_bytes | stored
    schema = schema_of(body)
    example = example_of(schema, schemas, whole=sent)
    return {"application/json": {"schema": schema} if example is None else {"schema": schema, "example": example}}
