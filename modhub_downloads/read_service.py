"""Anonymous reads of counts. Whether the mod may be seen is for the caller to check."""

from typing import Final, NamedTuple

from sqlalchemy import bindparam, func, select

from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub_downloads.models import DailyDownloads


class VersionCount(NamedTuple):
    """The downloads of a version: all of them, and those since a day."""

    version: str
    downloads: int
    recent: int


_NUMBER: Final = func.sum(DailyDownloads.downloads)
_RECENT: Final = func.coalesce(_NUMBER.filter(DailyDownloads.day >= bindparam("since")), 0)
_OF_MOD: Final = DailyDownloads.mod_id == bindparam("id")
_VERSIONS: Final = PreparedQuery(
    select(DailyDownloads.version, _NUMBER, _RECENT)
    .where(_OF_MOD)
    .group_by(DailyDownloads.version)
    .order_by(func.min(DailyDownloads.day).desc(), DailyDownloads.version.desc())
)
_DAYS: Final = PreparedQuery(
    select(DailyDownloads.day, _NUMBER)
    .where(_OF_MOD, DailyDownloads.day >= bindparam("since"))
    .group_by(DailyDownloads.day)
)


def count_versions(reader: RawQueryExecutor, mod_id: int, since: int = 0) -> list[VersionCount]:
    """The counts of all versions that were ever downloaded, the newest first."""
    rows = reader.rows(_VERSIONS, id=mod_id, since=since)
    return [VersionCount(version, int(number), int(recent)) for version, number, recent in rows]


def count_days(reader: RawQueryExecutor, mod_id: int, since: int) -> dict[int, int]:
    """The downloads of each day from ``since`` on; days without one are absent."""
    return {day: int(number) for day, number in reader.rows(_DAYS, id=mod_id, since=since)}
