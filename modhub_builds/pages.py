"""``/Modhub/App``: the page that leads with the newest build, and the feed of releases."""

import re
import shlex
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.db import iso
from modhub.pages.atom import Entry, File, atom_feed
from modhub.pages.sitemap import Places
from modhub.pages.tools import Tools, link
from modhub.request import Request
from modhub.views import OPEN, page
from modhub_builds.documents import newest_url
from modhub_builds.finding import Release
from modhub_builds.interfaces import IAppPage
from modhub_builds.platforms import LABELS, hinted, hinted_label, label, rank
from modhub_builds.views import finder

PAGE: Final = "/Modhub/App"
FEED: Final = f"{PAGE}/feed"
BLOCK: Final = "modhub_builds:templates/block.jinja2"
FEED_ENTRIES: Final = 50
_VARY: Final = "Cookie, Accept-Language, User-Agent, Sec-CH-UA-Platform"
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


def blocks(releases: dict[str, tuple[Release, ...]], own: str | None) -> list[PlatformBlock]:
    """The systems as the page shows them: the visitor's own first, else that of the newest build; then the others."""
    if not releases:
        return []
    leads = own if own in releases else max(releases, key=lambda os: releases[os][0].id)
    names = sorted({*releases, *LABELS}, key=lambda os: (os != leads, os not in releases, rank(os)))
    return [PlatformBlock(os, releases.get(os, ())) for os in names]


@page(context=IAppPage, request_method="GET", permission=OPEN, renderer="modhub_builds:templates/app.jinja2")
def show_app(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/App``"""
    shown, ui = finder(request).shown(), Tools(request)
    own = hinted(request.headers)
    # Nothing is pressed upon somebody who could not run it.
    without = hinted_label(own) if own and own not in shown.releases else ""
    request.response.headers["Vary"] = _VARY
    return {
        "blocks": [
            ui.piece(BLOCK, block=block, leads=at == 0 and not without, own=block.os == own)
            for at, block in enumerate(blocks(shown.releases, own))
        ],
        "without": without,
        "sections": shown.sections,
        "page": PAGE,
        "feed": FEED,
    }


@page(context=IAppPage, name="feed", request_method="GET", permission=OPEN)
def feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/App/feed``: the newest builds as Atom (RFC 4287)."""
    releases = [one for found in finder(request).shown().releases.values() for one in found]
    newest = sorted(releases, key=lambda one: one.id, reverse=True)[:FEED_ENTRIES]
    return atom_feed(request, FEED, PAGE, "App builds", map(feed_entry, newest))


def feed_entry(release: Release) -> Entry:
    """A build in the feed."""
    return Entry(
        path=release.url,
        page=PAGE,
        title=f"{release.label} {release.version or release.name}",
        updated=release.uploaded_at,
        text=f"{release.name}, {release.size} bytes, SHA-256 {release.sha256}",
        file=File(release.content_type, release.size),
    )


def in_sitemap(registry: Any, part: int) -> Places:
    """The one page; its last change is that of the newest build."""
    releases = [found[0] for found in registry.builds.shown().releases.values()]
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
    config.add_cross_origin(FEED)
    config.scan(__name__)
