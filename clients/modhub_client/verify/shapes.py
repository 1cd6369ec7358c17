"""The shapes of documents, in JSON Schema, and the comparison of a value with one. Documents may have more fields.

Those of the interface stand here: what the service says of itself is no measure of them, and another implementation
need not say anything. All others are in its own description (C-API-2).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modhub_client.verify.replies import Broken, Reply
from modhub_client.verify.run import Run

Shape = Mapping[str, Any]
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
TEXT, NUMBER, FLAG = ({"type": name} for name in ("string", "integer", "boolean"))


def text_like(pattern: str) -> Shape:
    """A text that the pattern matches as a whole."""
    return {"type": "string", "pattern": rf"\A(?:{pattern})\Z"}


def list_of(shape: Shape) -> Shape:
    """A list whose items have this shape."""
    return {"type": "array", "items": shape}


def object_of(**fields: Shape) -> Shape:
    """An object with these fields."""
    return {"type": "object", "required": [*fields], "properties": fields}


def or_null(shape: Shape) -> Shape:
    """A value of this shape, or null."""
    return {"anyOf": [shape, {"type": "null"}]}


GUID: Final = text_like("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
TIME: Final = text_like(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
ADDRESS: Final = text_like(r"/(?!/)[!-~]*")
"""An address on the same service."""
ASSET: Final = object_of(kind=text_like("code|css|image"), name=TEXT, bytes=NUMBER, url=ADDRESS)
MOD_FIELDS: Final = {
    "id": NUMBER,
    "guid": GUID,
    "title": TEXT,
    "description": TEXT,
    "version": TEXT,
    "games": list_of(TEXT),
    "requires": list_of(GUID),
    "conflictsWith": list_of(GUID),
    "published": FLAG,
    "createdAt": TEXT,
    "updatedAt": TEXT,
    "url": ADDRESS,
    "assets": list_of(ASSET),
}
MOD: Final = object_of(**MOD_FIELDS)
NOTE: Final = object_of(
    id=NUMBER, title=or_null(TEXT), text=TEXT, createdAt=TEXT, editedAt=or_null(TEXT), automatic=FLAG
)


def require_shape(subject: str, shape: Shape, value: Any) -> None:
    """`Broken` unless ``value`` has the shape; ``subject`` names it."""
    for mistake in _mistakes(shape, value, {}, subject):
        raise Broken(mistake)


def described_answer(run: Run, call: str, reply: Reply) -> dict[str, Any]:
    """The document of a 200; `Broken` if it is not what the service's description says of ``GET /api/…``, say.

    A service without a description says nothing of it.
    """
    document = reply.expect_document()
    method, path = call.split()
    operation = run.description.get("paths", {}).get(path, {}).get(method.lower())
    if operation is not None:
        shape = operation["responses"]["200"]["content"]["application/json"]["schema"]
        for mistake in _mistakes(shape, document, run.description["components"]["schemas"], reply.call):
            raise Broken(mistake)
    return document


def _mistakes(shape: Shape, value: Any, named: Mapping[str, Shape], where: str) -> Iterator[str]:
    """What is wrong with a value, in sentences; of JSON Schema what is used here and in descriptions of modhub."""
    if "$ref" in shape:
        shape = named[shape["$ref"].rpartition("/")[2]]
    if "anyOf" in shape:
        tried = [list(_mistakes(choice, value, named, where)) for choice in shape["anyOf"]]
        yield from [] if [] in tried else tried[0]
        return
    pattern, known = shape.get("pattern", ""), shape.get("enum", [value])
    # True is no number.
    if "type" in shape and type(value) not in _TYPES[shape["type"]]:
        yield f"{where}: expected {shape['type']}, came {value!r:.100}."
    elif value not in known or (isinstance(value, str) and not re.search(pattern, value)):
        yield f"{where}: expected {pattern or known}, came {value!r:.100}."
    elif isinstance(value, dict):
        yield from (f"{where}: the field {name} is missing." for name in shape.get("required", ()) if name not in value)
        for name in shape.get("properties", {}).keys() & value.keys():
            yield from _mistakes(shape["properties"][name], value[name], named, f"{where} {name}")
    elif isinstance(value, list):
        for item in value:
            yield from _mistakes(shape.get("items", {}), item, named, where)
