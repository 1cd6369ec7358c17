"""What people see of advisories: the newest on a page and in feeds, and a warning on the page of a mod."""

import re
from datetime import datetime
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.renderers import render
from pyramid.response import Response

from modhub.content.text import N_
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.moderation import IModeration
from modhub.plugins.resources import IMod
from modhub.plugins.services import IMods
from modhub.ui.atom import AtomEntry, atom_feed
from modhub.ui.json_feed import plain_json_feed
from modhub.ui.template_helpers import nav_link
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_moderation.advisories.read_service import AdvisoryReader
from modhub_moderation.advisories.resources import IAdvisoriesPage
from modhub_moderation.advisories.schemas import AdvisoryDocument
from modhub_moderation.advisories.services import find_standing

ADVISORIES_PATH: Final = "/Modhub/advisories"
FEED_PATH: Final = f"{ADVISORIES_PATH}/feed"
JSON_FEED_PATH: Final = f"{ADVISORIES_PATH}/feed.json"
KIND_LABELS: Final = {
    "malware": N_("Malware"),
    "vulnerable": N_("Vulnerable"),
    "illegal": N_("Illegal"),
    "other": N_("Other problem"),
}
_FEED_TITLE: Final = "Advisories about files"


@page(
    context=IAdvisoriesPage,
    request_method="GET",
    permission=OPEN,
    renderer="modhub_moderation:templates/advisories/advisories.jinja2",
)
def advisories_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/advisories``: those that were made or withdrawn last."""
    reader = AdvisoryReader(request.databases.raw_queries)
    return {
        "advisories": reader.newest(),
        "total": reader.count(),
        "labels": KIND_LABELS,
        "page": ADVISORIES_PATH,
        "feed": FEED_PATH,
        "json_feed": JSON_FEED_PATH,
    }


@page(context=IAdvisoriesPage, name="feed", request_method="GET", permission=OPEN)
def advisories_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/advisories/feed``: the same as Atom (RFC 4287)."""
    entries = newest_advisory_entries(request)
    return atom_feed(request, FEED_PATH, ADVISORIES_PATH, _FEED_TITLE, entries, twin=JSON_FEED_PATH)


@page(context=IAdvisoriesPage, name="feed.json", request_method="GET", permission=OPEN)
def advisories_json_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/advisories/feed.json``: the same as JSON Feed."""
    return plain_json_feed(request, JSON_FEED_PATH, ADVISORIES_PATH, _FEED_TITLE, newest_advisory_entries(request))


def newest_advisory_entries(request: Request) -> list[AtomEntry]:
    """The newest advisories as entries of a feed."""
    return [advisory_feed_entry(advisory) for advisory in AdvisoryReader(request.databases.raw_queries).newest()]


def advisory_feed_entry(advisory: AdvisoryDocument) -> AtomEntry:
    """The feed entry of an advisory; one that is withdrawn is the same entry, changed."""
    address = f"{ADVISORIES_PATH}#file-{advisory.sha256}"
    title = f"{KIND_LABELS[advisory.kind]}: {advisory.sha256}"
    return AtomEntry(
        path=address,
        page=address,
        title=f"Withdrawn: {title}" if advisory.withdrawn_at else title,
        updated=datetime.fromisoformat(advisory.withdrawn_at or advisory.since),
        text=f"{advisory.reason} {advisory.advice}",
    )


def advised_notice(context: Any, request: Request) -> Markup | None:
    """The warning on the page of a published mod that has a file with an advisory."""
    reader = AdvisoryReader(request.databases.raw_queries)
    if not IMod.providedBy(context) or not context.id or not reader.has_standing():
        return None
    with request.databases.readonly_session() as session:
        mod = request.find_service(IMods).get_mods(session, [context.id]).get(context.id)
        if mod is None or not mod.published:
            return None
        files = request.find_service(IModeration).files.of_mods(session, [context.id])
        shown = [file for file in files if file.kind != "former" and not file.is_kept]
        standing = find_standing(session, {file.sha256 for file in shown})
    advised = [{"name": file.name, "advisory": standing[file.sha256]} for file in shown if file.sha256 in standing]
    if not advised:
        return None
    values = {"advised": advised, "labels": KIND_LABELS, "page": ADVISORIES_PATH}
    template = "modhub_moderation:templates/advisories/notice.jinja2"
    return Markup(render(template, values, request=request))  # noqa: S704 - a template


def advisories_link(_context: Any, request: Request) -> Markup:
    """The way to the page."""
    return nav_link(request, ADVISORIES_PATH, N_("Advisories"))


def advisories_in_sitemap(_registry: Any, part: int) -> SitemapEntries:
    """The one page."""
    return [(ADVISORIES_PATH, None)] if part == 0 else []


def includeme(config: Configurator) -> None:
    """Register the page, its feeds and the warning."""
    config.add_panel("notice", "advisories", advised_notice, order=10)
    config.add_panel("footer", "advisories", advisories_link, order=60)
    config.add_sitemap("advisories", advisories_in_sitemap)
    for feed in (FEED_PATH, JSON_FEED_PATH):
        config.add_cross_origin(re.escape(feed))
    config.scan(__name__)
