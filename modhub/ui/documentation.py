"""``/Modhub/doc``: the API reference, in which each feature describes its own calls.

A section is a template that a feature adds as a panel at the place ``documentation``. It uses the macros of
``modhub:templates/documentation/parts.jinja2``, which take tables from the declarations of the calls. It depends only
on constants and settings, so sections are rendered once per language. The table of contents and the list of calls are
derived from the headings.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.renderers import render

from modhub.base.body_rules import ASKED_ABOVE_BYTES
from modhub.base.service_registry import find_service
from modhub.content import limits
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import ISite
from modhub.server.settings import Settings
from modhub.ui.reference_tables import ReferenceTables
from modhub.ui.template_helpers import PageHelpers
from modhub.web.headers import ALLOWED_HEADERS, EXPOSED
from modhub.web.request import Request
from modhub.web.views import OPEN, page

PLACE: Final = "documentation"
DOCUMENTATION_PATH: Final = "/Modhub/doc"
_HEADING: Final = re.compile(r'<h(?P<level>[234]) id="(?P<id>[^"]+)"[^>]*>(?P<text>.*?)</h(?P=level)>', re.DOTALL)
_SECTION, _PART, _CALL = 2, 3, 4


@dataclass(frozen=True, slots=True)
class DocumentationHeading:
    """A heading of the reference, of level 2 (section), 3 (part) or 4 (call)."""

    level: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentationSection:
    """The section of one feature: its markup and the headings in it."""

    markup: Markup
    headings: list[DocumentationHeading]

    @property
    def title(self) -> DocumentationHeading:
        """The heading of the section."""
        return self.headings[0]

    @property
    def parts(self) -> list[DocumentationHeading]:
        """The headings of its parts."""
        return [heading for heading in self.headings if heading.level == _PART]

    @property
    def calls(self) -> list[DocumentationHeading]:
        """The headings of its calls: method and path."""
        return [heading for heading in self.headings if heading.level == _CALL]


def documentation_section(template: str, **values: Any) -> Callable[[Any, Request], Markup]:
    """Return the function for ``add_panel("documentation", ...)`` that renders ``template`` with ``values``.

    Its first heading is its only ``h2``, and heading levels do not skip. It must not depend on the request.
    """

    def render_section(_context: Any, request: Request) -> Markup:
        tables = request.find_service(DocumentationCache).tables(request)
        return Markup(render(template, {**values, "tables": tables}, request=request))  # noqa: S704 - escaped there

    return render_section


def read_sections(markup: Markup) -> DocumentationSection:
    """Parse the headings of a section; ``ValueError`` if their levels are not in order."""
    matches = _HEADING.finditer(markup)
    headings = [
        DocumentationHeading(int(match["level"]), match["id"], Markup(match["text"]).striptags())  # noqa: S704
        for match in matches
    ]
    levels = [heading.level for heading in headings]
    skipped = any(after - before > 1 for before, after in pairwise(levels))
    if levels[:1] != [_SECTION] or levels.count(_SECTION) > 1 or skipped:
        raise ValueError(
            f"a section of the reference must begin with its only h2 and must not skip a level: {headings}"
        )
    return DocumentationSection(markup, headings)


class DocumentationCache(dict[str, list[DocumentationSection]]):
    """The sections of all features by language tag, and while they are rendered what their tables are made of."""

    _tables: ReferenceTables | None = None

    def tables(self, request: Request) -> ReferenceTables:
        """The tables of this application."""
        if self._tables is None:
            self._tables = ReferenceTables(request)
        return self._tables


def documentation_sections(request: Request) -> list[DocumentationSection]:
    """Return the sections of all features in the language of the request; rendered once per language."""
    cache: dict[str, list[DocumentationSection]] = request.find_service(DocumentationCache)
    tools = PageHelpers(request)
    sections = cache.get(tools.lang)
    if sections is None:
        sections = cache[tools.lang] = [read_sections(markup) for markup in tools.panels(PLACE)]
    return sections


@page(
    context=ISite,
    name="doc",
    request_method="GET",
    permission=OPEN,
    renderer="modhub:templates/documentation/page.jinja2",
)
def show_documentation(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/doc``"""
    return {"sections": documentation_sections(request), "page": DOCUMENTATION_PATH}


def includeme(config: Configurator) -> None:
    """The page, and the sections of the core."""
    config.add_service(DocumentationCache, DocumentationCache())
    for name, order in (("general", 10), ("operation", 900)):
        template = f"modhub:templates/documentation/{name}.jinja2"
        render_section = documentation_section(
            template,
            limits=limits,
            server=Settings,
            asked_above=ASKED_ABOVE_BYTES,
            cors={"sent": ALLOWED_HEADERS, "exposed": EXPOSED},
            scopes=find_service(config.registry, Declarations).scopes,
        )
        config.add_panel(PLACE, name, render_section, order=order)
    config.scan(__name__)
