"""``modhub-admin demo``: downloads of the sample mods. Safe to run again."""

from collections import Counter
from typing import Any, Final

from sqlalchemy import insert, select

from modhub.content.limits import PAGE_SIZE_MOST
from modhub.db import now
from modhub.plugins.services import IMods
from modhub_downloads.models import DailyDownloads, ModDownloads, day_of
from modhub_downloads.popular import DAYS, update_popular
from modhub_downloads.services import lock_counts

_DOWNLOADS: Final = {
    "Overlay Kit": 1204,
    "Split Timer": 866,
    "Foundry Map": 391,
    "Quiet Health Bars": 343,
    "Ghost Racer": 128,
    "Minimal Chat": 95,
    "Big Bold Bars": 41,
    "Tide Table": 12,
}
"""By the titles of samples of the core; the others have none."""


def fill_download_counts(admin: Any) -> None:
    """Add downloads of the last days to samples that have none."""
    mods, today = admin.find_service(IMods), day_of(now())
    with admin.writing() as (session, _):
        lock_counts(session)
        samples = mods.get_mods(session, range(1, PAGE_SIZE_MOST + 1)).values()
        counted = set(session.scalars(select(ModDownloads.mod_id)))
        days, totals = list[dict[str, Any]](), Counter[int]()
        for mod in samples:
            most = _DOWNLOADS.get(mod.title, 0) if mod.published and mod.id not in counted else 0
            for ago in range(DAYS):
                number = most // (DAYS + ago)
                if number:
                    days.append({"mod_id": mod.id, "version": mod.version, "day": today - ago, "downloads": number})
                    totals[mod.id] += number
        if days:
            session.execute(insert(DailyDownloads), days)
            session.execute(insert(ModDownloads), [{"mod_id": key, "downloads": sum_} for key, sum_ in totals.items()])
    update_popular(admin.registry)
