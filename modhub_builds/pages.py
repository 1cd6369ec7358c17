"""``/Modhub/App``: the download page, newest build first, and the feed of releases."""

import re
import shlex
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import Databases, iso
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.services import FeedHead
from modhub.ui.feeds import FeedAttachment, FeedItem, feed_response
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.ui.xml_responses import Redirect
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_builds.read_service import BuildReader, Release
from modhub_builds.resources import IAppPage, IBuilds
from modhub_builds.schemas import PLATFORM_LABELS, detect_platform, label, newest_url, rank, visitor_label
from modhub_builds.views import build_reader

APP_PAGE: Final = "/Modhub/App"
APP_FEED: Final = f"{APP_PAGE}/feed"
APP_JSON_FEED: Final = f"{APP_FEED}.json"
PLATFORM_BLOCK_TEMPLATE: Final = "modhub_builds:templates/block.jinja2"
FEED_ENTRIES: Final = 50
_VARY: Final = "Cookie, Accept-Language, User-Agent, Sec-CH-UA-Platform"
_POWERSHELL_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")


@dataclass(frozen=True, slots=True)
class PlatformBlock:
    """An operating system on the page: its builds, newest first; empty for a known system without one."""

    os: str
    releases: list[Release]

    @property
    def label(self) -> str:
        """Its display name."""
        return label(self.os)

    @property
    def newest(self) -> Release:
        """The newest build."""
        return self.releases[0]

    @property
    def newest_url(self) -> str:
        """The address that always serves the newest build."""
        return newest_url(self.os)

    @property
    def checksum_command(self) -> str:
        """The shell command of that system that prints the SHA-256 of the downloaded file."""
        name = self.newest.name
        if self.os == "windows":
            doubled = _POWERSHELL_QUOTES.sub(lambda quote: quote[0] * 2, name)
            return f"Get-FileHash -LiteralPath '{doubled}'"
        return f"{'shasum -a 256' if self.os == 'macos' else 'sha256sum'} -- {shlex.quote(name)}"


def platform_blocks(releases: dict[str, list[Release]], visitor_os: str | None) -> list[PlatformBlock]:
    """The systems in page order: the visitor's own first, else that of the newest build; then the others."""
    if not releases:
        return []
    first = visitor_os if visitor_os in releases else max(releases, key=lambda os: releases[os][0].id)
    names = sorted({*releases, *PLATFORM_LABELS}, key=lambda os: (os != first, os not in releases, rank(os)))
    return [PlatformBlock(os, releases.get(os, [])) for os in names]


def app_link(_context: Any, request: Request) -> Markup:
    """The link to the app, above the search and where pages say how to install a mod."""
    text = PageHelpers(request).messages.gettext(N_("Get the overlay app"))
    return Markup('<a href="{}">{}</a>').format(APP_PAGE, text)


@page(context=IAppPage, request_method="GET", permission=OPEN, renderer="modhub_builds:templates/app.jinja2")
def app_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/App``"""
    reader, ui = build_reader(request), PageHelpers(request)
    releases = reader.releases()
    visitor_os = detect_platform(request.headers)
    # Without a build for their own system, visitors get no other one as the main download.
    missing = visitor_label(visitor_os) if visitor_os and visitor_os not in releases else ""
    request.response.headers["Vary"] = _VARY
    return {
        "blocks": [
            ui.render(PLATFORM_BLOCK_TEMPLATE, block=block, leads=at == 0 and not missing)
            for at, block in enumerate(platform_blocks(releases, visitor_os))
        ],
        "missing": missing,
        "introduction": request.registry.settings["modhub_builds.introduction"],
        "sections": reader.sections(),
        "page": APP_PAGE,
        "feed": APP_FEED,
        "json_feed": APP_JSON_FEED,
    }


@page(context=IBuilds, request_method="GET", permission=OPEN)
def redirect_lower_case_app(_context: Any, _request: Request) -> Response:
    """``GET /Modhub/app``: redirects to the page, which is what people who type it mean."""
    return Redirect(APP_PAGE, 301)


@page(context=IAppPage, name="feed", request_method="GET", permission=OPEN)
@page(context=IAppPage, name="feed.json", request_method="GET", permission=OPEN)
def app_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/App/feed`` and ``feed.json``: the newest builds of all systems as Atom and as JSON Feed."""
    releases = [release for of_os in build_reader(request).releases().values() for release in of_os]
    newest = sorted(releases, key=lambda release: release.id, reverse=True)[:FEED_ENTRIES]
    head = FeedHead("App builds", APP_FEED, APP_PAGE, APP_JSON_FEED)
    base = PageHelpers(request).absolute("")
    return feed_response(request, head, [_feed_item(base, release) for release in newest])


def _feed_item(base: str, release: Release) -> FeedItem:
    address, at = base + release.url, iso(release.uploaded_at)
    return FeedItem(
        id=address,
        url=base + APP_PAGE,
        title=f"{release.label} {release.version or release.name}",
        date_published=at,
        date_modified=at,
        content_text=f"{release.name}, {release.size} bytes, SHA-256 {release.sha256}",
        attachments=[FeedAttachment(address, release.content_type, release.size)],
    )


def app_in_sitemap(registry: Any, part: int) -> SitemapEntries:
    """The one page, last changed by the newest build."""
    by_os = BuildReader(find_service(registry, Databases).raw_queries).releases()
    newest = max((of_os[0] for of_os in by_os.values()), key=lambda release: release.id, default=None)
    return [(APP_PAGE, iso(newest.uploaded_at) if newest else None)] if part == 0 else []


def app_navigation(_context: Any, request: Request) -> Markup:
    """The entry in the site's navigation."""
    return nav_link(request, APP_PAGE, N_("App"))


def includeme(config: Configurator) -> None:
    """Register the page, its feed and its navigation entry."""
    config.add_panel("navigation", "app", app_navigation, order=40)
    config.add_panel("app", "app", app_link)
    config.add_sitemap("app", app_in_sitemap)
    for feed in (APP_FEED, APP_JSON_FEED):
        config.add_cross_origin(re.escape(feed))
    config.scan(__name__)
