"""``/Modhub/doc``: the reference of the API, in which every feature describes its own calls.

A section is a template that a feature shows at the place ``documentation``; it is marked up with the pieces of
``modhub:templates/documentation/parts.jinja2``. What it says depends on constants and settings alone, so that sections
are rendered once for each language. The table of contents and the list of calls are read off their headings: nothing is
said twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.renderers import render

from modhub import limits
from modhub.declarations import Declarations
from modhub.http.headers import ALLOWED_HEADERS, EXPOSED
from modhub.interfaces import ISite
from modhub.request import Request
from modhub.server.head import MAX_HEADER_LINES
from modhub.server.rules import PROBE_ABOVE_BYTES
from modhub.server.settings import Settings
from modhub.service_registry import find_service
from modhub.ui.template_helpers import PageHelpers
from modhub.views import OPEN, page

PLACE: Final = "documentation"
DOCUMENTATION_TEMPLATE: Final = "/Modhub/doc"
_HEADING: Final = re.compile(r'<h(?P<level>[234]) id="(?P<id>[^"]+)"[^>]*>(?P<text>.*?)</h(?P=level)>', re.DOTALL)
_SECTION, _PART, _CALL = 2, 3, 4


@dataclass(frozen=True, slots=True)
class DocumentationHeading:
    """A heading of the reference: of a section (2), of a part (3), of a call (4)."""

    level: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentationSection:
    """What one feature says: its markup, and the headings in it."""

    markup: Markup
    headings: list[DocumentationHeading]

    @property
    def title(self) -> DocumentationHeading:
        """The heading of the section itself."""
        return self.headings[0]

    @property
    def parts(self) -> list[DocumentationHeading]:
        """The headings of its parts."""
        return [one for one in self.headings if one.level == _PART]

    @property
    def calls(self) -> list[DocumentationHeading]:
        """The headings of its calls: method and address."""
        return [one for one in self.headings if one.level == _CALL]


def documentation_section(template: str, **values: Any) -> Callable[[Any, Request], Markup]:
    """For ``add_panel("documentation", ...)``: a section written as a template, with ``values`` besides ``ui``.

    Its first heading is an ``h2`` and the only one; levels do not skip. Nothing in it may depend on the request.
    """

    def show(_context: Any, request: Request) -> Markup:
        return Markup(render(template, values, request=request))  # noqa: S704 - a template escapes what it is given

    return show


def read_sections(markup: Markup) -> DocumentationSection:
    """The section with the headings that its markup has; ``ValueError`` where they are not in order."""
    found = _HEADING.finditer(markup)
    headings = [DocumentationHeading(int(one["level"]), one["id"], Markup(one["text"]).striptags()) for one in found]  # noqa: S704
    levels = [one.level for one in headings]
    skipped = any(after - before > 1 for before, after in pairwise(levels))
    if levels[:1] != [_SECTION] or levels.count(_SECTION) > 1 or skipped:
        raise ValueError(f"a section of the reference begins with its h2, and skips no level: {headings}")
    return DocumentationSection(markup, headings)


class DocumentationCache(dict[str, list[DocumentationSection]]):
    """The sections of all features by language; they depend on nothing else."""


def documentation_sections(request: Request) -> list[DocumentationSection]:
    """The sections of all features in the reader's language, rendered when they are first asked for."""
    known: dict[str, list[DocumentationSection]] = request.find_service(DocumentationCache)
    tools = PageHelpers(request)
    found = known.get(tools.lang)
    if found is None:
        found = known[tools.lang] = [read_sections(markup) for markup in tools.panels(PLACE)]
    return found


@page(
    context=ISite,
    name="doc",
    request_method="GET",
    permission=OPEN,
    renderer="modhub:templates/documentation/page.jinja2",
)
def show_documentation(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/doc``"""
    return {"sections": documentation_sections(request), "page": DOCUMENTATION_TEMPLATE}


def includeme(config: Configurator) -> None:
    """The page, and what the core says on it of itself."""
    config.add_service(DocumentationCache, DocumentationCache())
    for name, order in (("general", 10), ("operation", 900)):
        template = f"modhub:templates/documentation/{name}.jinja2"
        described = documentation_section(
            template,
            limits=limits,
            server=Settings,
            most_fields=MAX_HEADER_LINES,
            asked_above=PROBE_ABOVE_BYTES,
            cors={"sent": ALLOWED_HEADERS, "exposed": EXPOSED},
            scopes=find_service(config.registry, Declarations).scopes,
        )
        config.add_panel(PLACE, name, described, order=order)
    config.scan(__name__)
