"""``/Modhub/App``: the page that leads with the newest build, and the feed of releases."""

import hashlib
import re
import shlex
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.db import iso
from modhub.pages.sitemap import Places
from modhub.pages.tools import Tools, link
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_builds.documents import newest_url
from modhub_builds.finding import Release
from modhub_builds.interfaces import IAppPage
from modhub_builds.platforms import LABELS, hinted, label, rank
from modhub_builds.views import finder

PAGE: Final = "/Modhub/App"
FEED: Final = f"{PAGE}/feed"
BLOCK: Final = "modhub_builds:templates/block.jinja2"
FEED_ENTRIES: Final = 50
ATOM: Final = "http://www.w3.org/2005/Atom"
_VARY: Final = "Cookie, Accept-Language, User-Agent, Sec-CH-UA-Platform"
_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_POWERSHELL_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")


@dataclass(frozen=True, slots=True)
class PlatformBlock:
    """An operating system on the page: its builds, newest first; a known system may have none yet."""

    os: str
    releases: tuple[Release, ...]

    @property
    def label(self) -> str:
        """Its name for people."""
        return label(self.os)

    @property
    def newest(self) -> Release:
        """The build that leads."""
        return self.releases[0]

    @property
    def newest_url(self) -> str:
        """The address that follows the newest build."""
        return newest_url(self.os)

    @property
    def check(self) -> str:
        """One line for a shell of that system, which shows the SHA-256 of the downloaded file."""
        name = self.newest.name
        if self.os == "windows":
            doubled = _POWERSHELL_QUOTES.sub(lambda quote: quote[0] * 2, name)
            return f"Get-FileHash -LiteralPath '{doubled}'"
        return f"{'shasum -a 256' if self.os == 'macos' else 'sha256sum'} -- {shlex.quote(name)}"


def blocks(releases: dict[str, list[Release]], own: str | None) -> list[PlatformBlock]:
    """The systems as the page shows them: the visitor's own first, else that of the newest build; then the others."""
    if not releases:
        return []
    leads = own if own in releases else max(releases, key=lambda os: releases[os][0].id)
    names = sorted({*releases, *LABELS}, key=lambda os: (os != leads, os not in releases, rank(os)))
    return [PlatformBlock(os, tuple(releases.get(os, ()))) for os in names]


@page(context=IAppPage, request_method="GET", permission=OPEN, renderer="modhub_builds:templates/app.jinja2")
def show_app(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/App``"""
    shown, ui = finder(request), Tools(request)
    own = hinted(request.headers)
    request.response.headers["Vary"] = _VARY
    return {
        "blocks": [
            ui.piece(BLOCK, block=block, leads=at == 0, own=block.os == own)
            for at, block in enumerate(blocks(shown.releases(), own))
        ],
        "sections": shown.sections(),
        "page": PAGE,
        "feed": FEED,
    }


@page(context=IAppPage, name="feed", request_method="GET", permission=OPEN)
def feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/App/feed``: the newest builds as Atom (RFC 4287)."""
    releases = [one for found in finder(request).releases().values() for one in found]
    newest = sorted(releases, key=lambda one: one.id, reverse=True)[:FEED_ENTRIES]
    body = atom(str(request.registry.settings["modhub.base_url"]), newest)
    response = Response(body, content_type="application/atom+xml", charset="utf-8", conditional_response=True)
    response.etag = hashlib.blake2b(body, digest_size=16).hexdigest()
    response.headers["Cache-Control"] = "no-cache"
    return response


def atom(base_url: str, releases: list[Release]) -> bytes:
    """The feed document; every text in it is text, whatever a build is called."""
    root = ET.Element("feed", {"xmlns": ATOM})
    _texts(root, id=base_url + FEED, title="App builds", updated=iso(releases[0].uploaded_at) if releases else _NEVER)
    ET.SubElement(ET.SubElement(root, "author"), "name").text = "modhub"
    _link(root, base_url + FEED, rel="self", type="application/atom+xml")
    _link(root, base_url + PAGE, rel="alternate", type="text/html")
    for release in releases:
        entry = ET.SubElement(root, "entry")
        title = f"{release.label} {release.version or release.name}"
        content = f"{release.name}, {release.size} bytes, SHA-256 {release.sha256}"
        address = base_url + release.url
        _texts(entry, id=address, title=title, updated=iso(release.uploaded_at), content=content)
        _link(entry, base_url + PAGE, rel="alternate", type="text/html")
        _link(entry, address, rel="enclosure", type=release.content_type, length=str(release.size))
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body


_NEVER: Final = "1970-01-01T00:00:00Z"


def _texts(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = _NO_XML.sub("", text)


def _link(parent: ET.Element, href: str, **attributes: str) -> None:
    clean = {name: _NO_XML.sub("", value) for name, value in attributes.items()}
    ET.SubElement(parent, "link", {"href": href, **clean})


def in_sitemap(registry: Any, part: int) -> Places:
    """The one page; its last change is that of the newest build."""
    releases = [found[0] for found in registry.builds.releases().values()]
    newest = max(releases, key=lambda one: one.id, default=None)
    return [(PAGE, iso(newest.uploaded_at) if newest else None)] if part == 0 else []


def navigation(_context: Any, request: Request) -> Markup:
    """The entry of the site's navigation."""
    return link(request, PAGE, "App")


def includeme(config: Configurator) -> None:
    """The page, its feed and its entry."""
    config.add_static("modhub_builds:static")
    config.add_messages("modhub_builds:messages")
    config.add_panel("navigation", "app", navigation, order=40)
    config.add_sitemap("app", in_sitemap)
    config.scan(__name__)
