"""Anonymous reads of counts."""

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


class DownloadReader:
    """Reads the counts of a mod. Whether the mod may be seen is for the caller to check."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader

    def versions(self, mod_id: int, since: int = 0) -> list[VersionCount]:
        """The counts of all versions that were ever downloaded, the newest first."""
        rows = self._reader.rows(_VERSIONS, id=mod_id, since=since)
        return [VersionCount(version, int(number), int(recent)) for version, number, recent in rows]

    def days(self, mod_id: int, since: int) -> dict[int, int]:
        """The downloads of each day from ``since`` on; days without one are absent."""
        return {day: int(number) for day, number in self._reader.rows(_DAYS, id=mod_id, since=since)}
