"""``/Modhub/doc``: the API reference for people, which shows the description at ``/api/openapi.json`` as a page.

A feature writes nothing for it: its calls have a section under its title. What holds for several of them is in the file
``api.md`` of its package, as Markdown; a part that others link to begins with ``<h3 id="part">``. What holds for all
calls is ``general.jinja2``.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pyramid.config import Configurator
from pyramid.renderers import render

from modhub.base.body_rules import ASKED_ABOVE_BYTES
from modhub.base.identity import CredentialKind
from modhub.base.operations import SCHEMA_OF
from modhub.content import limits
from modhub.content.markdown_tables import fill_tables
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import ISite
from modhub.server.settings import Settings
from modhub.ui.template_helpers import PageHelpers
from modhub.web.headers import ALLOWED_HEADERS, EXPOSED
from modhub.web.openapi import CATALOGUE, REFERENCE, describe_api
from modhub.web.openapi_schemas import ERROR_NAME
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.views import OPEN

PROSE: Final = "api.md"
CREDENTIALS: Final = {
    "": ("No credential", ""),
    CredentialKind.ACCOUNT: ("Access token", "Authorization: Bearer $TOKEN"),
    CredentialKind.MACHINE: ("Machine key", "X-Api-Key: $MODHUB_API_KEY"),
    CredentialKind.ADDRESS: ("Address key", "X-Api-Key: $ADDRESS_KEY"),
}
"""What a call needs, and the header of it, with the caller's secret as a variable of the shell."""
_REFERENCE: Final = re.compile(re.escape(SCHEMA_OF.format(name="")) + r"(\w+)")
_TEXT: Final = fill_tables(MarkdownIt("commonmark", {"html": False}))
_PROSE: Final = fill_tables(MarkdownIt("commonmark"))


Row = tuple[str, Markup, Markup]
"""A field: its name, its type in words, and what it means."""


class Call(NamedTuple):
    """One call."""

    id: str
    title: str
    credential: str
    about: Markup
    parameters: Sequence[Mapping[str, Any]]
    """As in the description."""
    request: str
    takes: Markup
    """The type of the JSON that is sent, in words; empty if none is."""
    status: str
    returns: Markup
    example: str
    schemas: list[tuple[str, list[Row]]]
    """Those of the JSON, and those within them, that no call before it has shown."""
    others: Mapping[str, Any]
    """All other answers by status, as in the description, without what any call may answer."""
    clauses: Markup


class Section(NamedTuple):
    """The calls of one feature."""

    id: str
    title: str
    prose: Markup
    calls: list[Call]


def inline(text: str) -> Markup:
    """Render one line of Markdown; HTML in it is text."""
    return Markup(_TEXT.renderInline(text))  # noqa: S704 - without HTML


def read_prose(package: str) -> Markup:
    """What a package says of several calls; nothing if it has no such file."""
    try:
        text = files(package).joinpath(PROSE).read_text("utf-8")
    except (FileNotFoundError, TypeError):  # TypeError: a single module
        return Markup()
    return Markup(_PROSE.render(text))  # noqa: S704 - a file of ours


class Reference:
    """A description, part by part as the page shows it. Each schema is shown once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._base = document["servers"][0]["url"]
        self._schemas: Mapping[str, Any] = document["components"]["schemas"]
        self._calls = [
            (path, method.upper(), operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        self._sent = self._names_in([operation.get("requestBody") for _, _, operation in self._calls])
        self._shown: set[str] = set()

    def sections(self, titles: Mapping[str, str]) -> list[Section]:
        """A section for each title that has calls, in the order of ``titles``, which has the packages by title."""
        return [
            Section(package.removeprefix("modhub_"), title, read_prose(package), calls)
            for title, package in titles.items()
            if (calls := [self._call(*call) for call in self._calls if call[2]["tags"] == [title]])
        ]

    def _call(self, path: str, method: str, operation: Mapping[str, Any]) -> Call:
        about, _, clauses = operation["description"].partition("\n\n")
        parameters, body = operation.get("parameters", ()), operation.get("requestBody", {})
        others = {status: response for status, response in operation["responses"].items() if "$ref" not in response}
        status = min(others)
        success = others.pop(status)
        kinds = [kind for needed in operation["security"] or [{}] for kind in needed or [""]]
        takes, returns = _json_of(body), _json_of(success)
        return Call(
            id=operation["operationId"].replace("_", "-"),
            title=f"{method} {path}",
            credential=" or ".join(CREDENTIALS[kind][0] for kind in kinds),
            about=inline(about),
            parameters=parameters,
            request=self._curl(path, method, parameters, CREDENTIALS[kinds[-1]][1], body),
            takes=self._type(takes["schema"]) if takes else Markup(),
            status=status,
            returns=self._type(returns["schema"]) if returns else Markup(),
            example=msgspec.json.format(encode(returns["example"])).decode() if "example" in returns else "",
            schemas=self.tables([body, operation["responses"]]),
            others=others,
            clauses=Markup(_TEXT.render(clauses)),  # noqa: S704 - without HTML
        )

    def tables(self, part: Any) -> list[tuple[str, list[Row]]]:
        """The fields of the schemas in a part of the description that were not shown yet, by name."""
        names = [name for name in self._names_in(part) if name not in self._shown]
        self._shown.update(names)
        return [(name, self._fields(name)) for name in names]

    def _names_in(self, part: Any) -> list[str]:
        """The schemas with fields that a part of the description refers to, and those within them, once each."""
        names: list[str] = []
        parts = [part]
        for each in parts:
            found = dict.fromkeys(_REFERENCE.findall(encode(each).decode()))
            new = [name for name in found if name not in names and "properties" in self._schemas[name]]
            names += new
            parts += [self._schemas[name] for name in new]
        return names

    def _fields(self, name: str) -> list[Row]:
        """Only of what is sent it matters which are required: answers have all, if not said."""
        schema = self._schemas[name]
        required = schema["required"] if name in self._sent else ()
        return [
            (
                field,
                self._type(told) + (", required" if field in required else ""),
                inline(told.get("description", "")),
            )
            for field, told in schema["properties"].items()
        ]

    def _type(self, schema: Mapping[str, Any]) -> Markup:
        """The type of a value in words."""
        if "$ref" in schema:
            (name,) = _REFERENCE.findall(schema["$ref"])
            named = self._schemas[name]
            link = Markup('<a href="#schema-{0}">{0}</a>').format(name)
            return link if "properties" in named else self._type(named)
        if "anyOf" in schema:
            return Markup(" or ").join(self._type(choice) for choice in schema["anyOf"])
        if "enum" in schema:
            return Markup(" or ").join(Markup("<code>{}</code>").format(value) for value in schema["enum"])
        if schema.get("type") == "array":
            return Markup("array of ") + self._type(schema["items"])
        return escape(schema.get("type", "anything"))

    def _curl(self, path: str, method: str, parameters: Sequence[Any], header: str, body: Mapping[str, Any]) -> str:
        """The call for a shell; what is sent as a file is read from ``FILE``."""
        query = {}
        for parameter in parameters:
            name = parameter["name"]
            value = parameter.get("example", 12 if parameter["schema"]["type"] == "integer" else name.upper())
            path = path.replace(f"{{{name}}}", quote(str(value)))
            if parameter["in"] == "query" and ("example" in parameter or "required" in parameter):
                query[name] = value
        words = ["curl --fail-with-body"]
        if method != ("POST" if body else "GET"):
            words[0] += f" -X {method}"
        if header:
            words.append(f'-H "{header}"')
        if body:
            words.append(f"-H 'Content-Type: {next(iter(body['content']))}'")
            sent = _json_of(body)
            words.append(
                f"-d {shlex.quote(encode(sent.get('example', {})).decode())}" if sent else "--data-binary @FILE"
            )
        words.append(shlex.quote(self._base + path + (f"?{urlencode(query)}" if query else "")))
        return " \\\n  ".join(words)


def _json_of(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema and example of the JSON of a request or a response; nothing if it has none."""
    content: Mapping[str, Any] = holder.get("content", {}).get("application/json", {})
    return content


class ReferencePage:
    """The page, rendered once for each language: it depends on code and settings alone."""

    def __init__(self) -> None:
        self._texts: dict[str, Markup] = {}

    def show(self, _context: Any, request: Request) -> dict[str, Any]:
        """``GET /Modhub/doc``"""
        language = PageHelpers(request).lang
        if language not in self._texts:
            self._texts[language] = _render_reference(request)
        return {"reference": self._texts[language], "page": REFERENCE}


def _render_reference(request: Request) -> Markup:
    declared, reference = request.find_service(Declarations), Reference(describe_api(request))
    titles = {CATALOGUE: "modhub"} | {feature.title: feature.name for feature in declared.features}
    values = {
        "inline": inline,
        "errors": reference.tables([{"$ref": SCHEMA_OF.format(name=ERROR_NAME)}]),
        "sections": reference.sections(titles),
        "limits": limits,
        "server": Settings,
        "asked_above": ASKED_ABOVE_BYTES,
        "cors": {"sent": ALLOWED_HEADERS, "exposed": EXPOSED},
        "scopes": declared.scopes,
    }
    return Markup(render("modhub:templates/documentation/reference.jinja2", values, request=request))  # noqa: S704


def includeme(config: Configurator) -> None:
    """The page."""
    config.add_view(
        ReferencePage().show,
        context=ISite,
        name="doc",
        request_method="GET",
        permission=OPEN,
        is_api=False,
        renderer="modhub:templates/documentation/page.jinja2",
    )
