"""``/sitemap.xml`` (sitemaps.org): all public addresses in one file, or an index of parts if there are many.

``config.add_sitemap(name, addresses, parts)`` adds a feature's public addresses. Everybody can read them, so a source
must read public data only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from markupsafe import escape
from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.plugins.declarations import Declarations, SitemapEntries
from modhub.plugins.resources import IRoot
from modhub.ui.xml_responses import xml_response
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page

PART: Final = 250
"""Addresses per part. The protocol allows 50,000 and 50 MB; with so few, a part is as fast as a page."""
_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def parts_of(count: int) -> int:
    """Return the number of parts for ``count`` addresses."""
    return -(-count // PART)


@page(context=IRoot, name="sitemap.xml", request_method="GET", permission=OPEN)
def sitemap_view(_context: Any, request: Request) -> Response:
    """``GET /sitemap.xml``: all addresses, or the index of the parts; with ``of`` and ``part`` a single part."""
    sources = request.find_service(Declarations).sitemaps
    base = str(request.registry.settings["modhub.base_url"])
    name = query(request, "of")
    if name is None:
        parts = {source_name: source.parts(request.registry) for source_name, source in sorted(sources.items())}
        if max(parts.values(), default=0) > 1:
            return xml_response(_document("sitemapindex", _index(base, parts)), "application/xml")
        entries = [entry for source_name in parts for entry in sources[source_name].addresses(request.registry, 0)]
    else:
        part = query(request, "part") or "0"
        if name not in sources or not _NUMBER.fullmatch(part):
            raise not_found()
        entries = list(sources[name].addresses(request.registry, int(part)))
    return xml_response(_document("urlset", _urls(base, entries)), "application/xml")


def _index(base: str, parts: Mapping[str, int]) -> Iterator[str]:
    for name, count in parts.items():
        for part in range(count):
            yield f"<sitemap><loc>{base}/sitemap.xml?of={name}&amp;part={part}</loc></sitemap>"


def _urls(base: str, entries: SitemapEntries) -> Iterator[str]:
    for path, changed in entries:
        lastmod = f"<lastmod>{changed}</lastmod>" if changed else ""
        yield f"<url><loc>{base}{escape(path)}</loc>{lastmod}</url>"


def _document(root: str, lines: Iterable[str]) -> str:
    content = "\n".join(lines)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<{root} xmlns="{_NAMESPACE}">\n{content}\n</{root}>\n'
