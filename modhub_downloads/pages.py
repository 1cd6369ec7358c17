"""What pages show of downloads: their days to the owner of a mod. Their number is a column of it."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.content.text import N_
from modhub.db import now
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods, ModSummary
from modhub.web.request import Request
from modhub_downloads.models import date_of, day_of
from modhub_downloads.read_service import count_days, count_versions

DEFINITION: Final = N_(
    "Downloads of the mod's file, counted once per visitor, version and day (UTC) when the file is sent from its "
    "beginning; a visitor is a network address, and no address is stored."
)
ORDER_TITLE: Final = N_("Most downloaded")
POPULAR_TITLE: Final = N_("Popular this week")
FIGURE: Final = ("%(num)s download", "%(num)s downloads")
"""What the templates say, too, so it is translated."""
DAYS_SHOWN: Final = 30
VERSIONS_SHOWN: Final = 20


def workshop_panel(context: Any, request: Request) -> Markup | None:
    """The downloads of the last days and of each version, for the owner of a published mod."""
    mod = _public_mod(context, request)
    if mod is None:
        return None
    reader, today = request.databases.raw_queries, day_of(now())
    first = today - DAYS_SHOWN + 1
    counts, by_day = count_versions(reader, mod.id, first), count_days(reader, mod.id, first)
    # The newest first, days without a download included; each by its beginning.
    days = {f"{date_of(day)}T00:00:00Z": by_day.get(day, 0) for day in range(today, first - 1, -1)}
    values = {
        "total": sum(count.downloads for count in counts),
        "recent": sum(days.values()),
        "days": days,
        "most": max(days.values()),
        "versions": counts[:VERSIONS_SHOWN],
        "more_versions": max(0, len(counts) - VERSIONS_SHOWN),
        "definition": DEFINITION,
    }
    return Markup(render("modhub_downloads:templates/workshop.jinja2", values, request=request))  # noqa: S704


def _public_mod(context: Any, request: Request) -> ModSummary | None:
    if not IOwnMod.providedBy(context):
        return None
    mod = request.find_service(IMods).get_mods(request.dbsession, [context.id]).get(context.id)
    return mod if mod is not None and mod.published else None
