"""``/sitemap.xml`` (sitemaps.org): all public addresses in one file, or an index of parts where there are many.

``config.add_sitemap(name, addresses, parts)`` brings a feature's public addresses in. What it names everybody may see:
a source reads what is public and nothing else.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import escape
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.errors import not_found
from modhub.interfaces import IRoot
from modhub.payload import query
from modhub.request import Request
from modhub.service_registry import find_service
from modhub.ui.xml_responses import xml_response
from modhub.views import OPEN, page

PART: Final = 250
"""Addresses in a part. The protocol allows 50,000 and 50 MB; these few are answered as fast as a page."""
_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
SitemapEntries = Iterable[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class SitemapSource:
    """Where addresses come from: ``addresses(registry, part)``, ``parts(registry)``."""

    addresses: Callable[[Any, int], SitemapEntries]
    parts: Callable[[Any], int]


class Sitemaps(dict[str, SitemapSource]):
    """The declared sources by name."""


def one_part(_registry: Any) -> int:
    """How many parts a source has that needs no more."""
    return 1


def parts_of(count: int) -> int:
    """How many parts ``count`` addresses need."""
    return -(-count // PART)


def add_sitemap(
    config: Configurator,
    name: str,
    addresses: Callable[[Any, int], SitemapEntries],
    parts: Callable[[Any], int] = one_part,
) -> None:
    """Name public addresses in the sitemap.

    ``parts(registry)`` tells how many parts there are; ``addresses(registry, part)`` gives those of one, counted from 0
    and :data:`PART` of them or little more: the path, percent-encoded, and the time of the last change or None.
    """

    def register() -> None:
        find_service(config.registry, Sitemaps)[name] = SitemapSource(addresses, parts)

    config.action(("modhub sitemap", name), register)


@page(context=IRoot, name="sitemap.xml", request_method="GET", permission=OPEN)
def sitemap_view(_context: Any, request: Request) -> Response:
    """``GET /sitemap.xml``: all addresses, or the index of the parts; with ``of`` and ``part``, one part."""
    sources: dict[str, SitemapSource] = request.find_service(Sitemaps)
    base = str(request.registry.settings["modhub.base_url"])
    wanted = query(request, "of")
    if wanted is None:
        parts = {name: source.parts(request.registry) for name, source in sorted(sources.items())}
        if max(parts.values(), default=0) > 1:
            return xml_response(request, _document("sitemapindex", _index(base, parts)), "application/xml")
        places = [place for name in parts for place in sources[name].addresses(request.registry, 0)]
        return xml_response(request, _document("urlset", _urls(base, places)), "application/xml")
    source, part = sources.get(wanted), query(request, "part") or "0"
    if source is None or not _NUMBER.fullmatch(part):
        raise not_found()
    places = list(source.addresses(request.registry, int(part)))
    return xml_response(request, _document("urlset", _urls(base, places)), "application/xml")


def _index(base: str, parts: Mapping[str, int]) -> Iterator[str]:
    for name, count in parts.items():
        for part in range(count):
            yield f"<sitemap><loc>{base}/sitemap.xml?of={name}&amp;part={part}</loc></sitemap>"


def _urls(base: str, places: SitemapEntries) -> Iterator[str]:
    for path, changed in places:
        stamp = f"<lastmod>{changed}</lastmod>" if changed else ""
        yield f"<url><loc>{base}{escape(path)}</loc>{stamp}</url>"


def _document(root: str, lines: Iterable[str]) -> str:
    inside = "\n".join(lines)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<{root} xmlns="{_NAMESPACE}">\n{inside}\n</{root}>\n'


def includeme(config: Configurator) -> None:
    """The directive and the address."""
    config.add_service(Sitemaps, Sitemaps())
    config.add_directive("add_sitemap", add_sitemap)
    config.scan(__name__)
