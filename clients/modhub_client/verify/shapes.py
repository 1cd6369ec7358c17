"""The shapes of documents, and the comparison of a value with one. Documents may have more fields than is said.

Those of the interface stand here: what the service says of itself is no measure of them, and another implementation
need not say anything. All others are in its own description (C-API-2).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modhub_client.verify.replies import Broken, Reply, require
from modhub_client.verify.run import Run

GUID_SHAPE: Final = re.compile("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
TIME_SHAPE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
ADDRESS_SHAPE: Final = re.compile(r"/(?!/)[!-~]*")
"""An address on the same service."""
DIGEST_SHAPE: Final = re.compile("[0-9a-f]{64}")
ASSET_SHAPE: Final = {"kind": re.compile("code|css|image"), "name": str, "bytes": int, "url": ADDRESS_SHAPE}
MOD_SHAPE: Final[Mapping[str, Any]] = {
    "id": int,
    "guid": GUID_SHAPE,
    "title": str,
    "description": str,
    "version": str,
    "games": [str],
    "requires": [GUID_SHAPE],
    "conflictsWith": [GUID_SHAPE],
    "published": bool,
    "createdAt": str,
    "updatedAt": str,
    "url": ADDRESS_SHAPE,
    "assets": [ASSET_SHAPE],
}
NOTE_SHAPE: Final[Mapping[str, Any]] = {
    "id": int,
    "title": (str, None),
    "text": str,
    "createdAt": str,
    "editedAt": (str, None),
    "automatic": bool,
}


def require_shape(subject: str, shape: Any, value: Any) -> None:
    """`Broken` unless ``value`` has the shape; ``subject`` names it.

    A shape is a type, a pattern that a whole text matches, None, a list with the shape of each item, an object with the
    shapes of fields, or a tuple of alternatives.
    """
    if isinstance(shape, Mapping):
        require(isinstance(value, dict), f"{subject}: expected an object, came {type(value).__name__}.")
        for name, inner in shape.items():
            require(name in value, f"{subject}: the field {name} is missing.")
            require_shape(f"{subject}.{name}", inner, value[name])
    elif isinstance(shape, list):
        require(isinstance(value, list), f"{subject}: expected a list, came {type(value).__name__}.")
        for position, item in enumerate(value):
            require_shape(f"{subject}[{position}]", shape[0], item)
    else:
        alternatives = shape if isinstance(shape, tuple) else (shape,)
        names = " or ".join(map(_name_of, alternatives))
        require(
            any(_fits(choice, value) for choice in alternatives), f"{subject}: expected {names}, came {value!r:.100}."
        )


def _fits(shape: Any, value: Any) -> bool:
    if isinstance(shape, re.Pattern):
        return isinstance(value, str) and shape.fullmatch(value) is not None
    # True is no number.
    return value is None if shape is None else type(value) is shape


def _name_of(shape: Any) -> str:
    if isinstance(shape, re.Pattern):
        return f"text like {shape.pattern}"
    return "null" if shape is None else str(shape.__name__)


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def described_answer(run: Run, call: str, reply: Reply) -> dict[str, Any]:
    """The document of a 200; `Broken` if it is not what the service's description says of ``GET /api/…``, say.

    A service without a description says nothing of it.
    """
    document = reply.expect_document()
    method, path = call.split()
    operation = run.description.get("paths", {}).get(path, {}).get(method.lower())
    if operation is not None:
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        for mistake in _mistakes(schema, document, run.description["components"]["schemas"], reply.call):
            raise Broken(mistake)
    return document


def _mistakes(schema: Mapping[str, Any], value: Any, schemas: Mapping[str, Any], where: str) -> Iterator[str]:
    """What is wrong with a value, in sentences; of JSON Schema what descriptions of modhub use."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [list(_mistakes(choice, value, schemas, where)) for choice in schema["anyOf"]]
        yield from [] if [] in tried else tried[0]
        return
    if value not in schema.get("enum", [value]):
        yield f"{where}: expected one of {schema['enum']}, came {value!r:.100}."
    # True is no number.
    if "type" in schema and type(value) not in _TYPES[schema["type"]]:
        yield f"{where}: expected {schema['type']}, came {value!r:.100}."
    elif isinstance(value, dict):
        yield from (
            f"{where}: the field {name} is missing." for name in schema.get("required", ()) if name not in value
        )
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from _mistakes(inner, value[name], schemas, f"{where} {name}")
    elif isinstance(value, list):
        for item in value:
            yield from _mistakes(schema.get("items", {}), item, schemas, where)
