"""The tables of the reference at ``/Modhub/doc``, from the declarations that ``/api/openapi.json`` is made from.

Fields of bodies come from their schemas, parameters and refusals from the operations; what they mean is Markdown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from modhub.base.operations import RANGED_FILE, FileBody, Parameter
from modhub.content.markdown_tables import fill_tables
from modhub.web.openapi_parts import PARAMETER_TYPES
from modhub.web.openapi_refusals import listed_refusals
from modhub.web.openapi_schemas import name_of, schema_of, schemas_of
from modhub.web.request import Request
from modhub.web.served_operations import find_operations

_MARKDOWN: Final = fill_tables(MarkdownIt("commonmark", {"html": False}))


def inline(text: str) -> Markup:
    """Render one line of Markdown; HTML in it is text."""
    return Markup(_MARKDOWN.renderInline(text))  # noqa: S704 - without HTML


@dataclass(frozen=True, slots=True)
class TableRow:
    """A field or a parameter: its name, its type in words, and what it means."""

    name: str
    type: Markup
    meaning: Markup


@dataclass(frozen=True, slots=True)
class ListedRefusal:
    """An error of a call; without a code where it is a page."""

    status: int
    code: str
    meaning: Markup


class ReferenceTables:
    """The tables of one application. Unknown names are a KeyError: the section is wrong."""

    def __init__(self, request: Request) -> None:
        self._served = {served.operation.id: served for served in find_operations(request)}
        operations = [served.operation for served in self._served.values()]
        self._schemas = schemas_of(operations)
        sent = [operation.takes for operation in operations if operation.takes is not None]
        self._sent = {name_of(schema_of(body)["$ref"]) for body in sent if not isinstance(body, FileBody)}

    def fields(self, schema_name: str) -> list[TableRow]:
        """The fields of a schema. Only of what is sent it matters which are required: answers have all, if not said."""
        schema = self._schemas[schema_name]
        required = schema["required"] if schema_name in self._sent else ()
        return [
            TableRow(
                name,
                self._type(field) + (", required" if name in required else ""),
                inline(field.get("description", "")),
            )
            for name, field in schema["properties"].items()
        ]

    def parameters(self, operation_id: str) -> list[TableRow]:
        """The variable segments, parameters and headers of a call."""
        served = self._served[operation_id]
        return [
            *(_parameter(segment, f"{{{segment.name}}}", ", in the address") for segment in served.segments),
            *(_parameter(parameter, parameter.name) for parameter in served.operation.parameters),
            *(_parameter(header, header.name, ", header") for header in served.operation.headers),
        ]

    def refusals(self, operation_id: str) -> list[ListedRefusal]:
        """The errors of a call by status, without those that the reference tells once for all."""
        served = self._served[operation_id]
        return [
            ListedRefusal(refusal.status, refusal.code if served.is_api else "", inline(refusal.about))
            for refusal in sorted(listed_refusals(served), key=lambda refusal: refusal.status)
        ]

    def is_file(self, operation_id: str) -> bool:
        """Whether a call answers a stored file, with conditions and ranges."""
        return self._served[operation_id].operation.returns is RANGED_FILE

    def _type(self, schema: Mapping[str, Any]) -> Markup:
        """The type of a field in words."""
        if "$ref" in schema:
            name = name_of(schema["$ref"])
            named = self._schemas[name]
            link = Markup('<a href="#schema-{0}">{0}</a>').format(name)
            return link if "properties" in named else self._type(named)
        if "anyOf" in schema:
            return Markup(" or ").join(self._type(choice) for choice in schema["anyOf"])
        if "enum" in schema:
            *values, last = (Markup("<code>{}</code>").format(value) for value in schema["enum"])
            return Markup(", ").join(values) + " or " + last
        if schema["type"] == "array":
            return Markup("array of ") + self._type(schema["items"])
        return Markup("{}").format(schema["type"])


def _parameter(parameter: Parameter, name: str, place: str = "") -> TableRow:
    default = "" if parameter.default is None else f", {parameter.default} when not sent"
    needed = ", required" if parameter.required else ""
    return TableRow(
        name, Markup("{}").format(PARAMETER_TYPES[parameter.kind] + place + needed + default), inline(parameter.about)
    )
