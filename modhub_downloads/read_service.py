"""Anonymous reads of counts."""

from functools import cache
from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub_downloads.models import DailyDownloads


class VersionCount(NamedTuple):
    """The downloads of a version: all of them, and those since a day."""

    version: str
    downloads: int
    recent: int


@cache
def _statements(dialect: str) -> tuple[PreparedQuery, PreparedQuery]:
    of_mod = DailyDownloads.mod_id == bindparam("id")
    number, day = func.sum(DailyDownloads.downloads), DailyDownloads.day
    recent = func.sum(DailyDownloads.downloads).filter(day >= bindparam("since"))
    versions = select(DailyDownloads.version, number, func.coalesce(recent, 0)).where(of_mod)
    newest_first = (func.min(day).desc(), DailyDownloads.version.desc())
    versions = versions.group_by(DailyDownloads.version).order_by(*newest_first)
    days = select(day, number).where(of_mod, day >= bindparam("since")).group_by(day)
    return PreparedQuery(versions, dialect), PreparedQuery(days, dialect)


class DownloadReader:
    """Reads the counts of a mod. Whether the mod may be seen is for the caller to check."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        self._versions, self._days = _statements(reader.dialect)

    def versions(self, mod_id: int, since: int = 0) -> list[VersionCount]:
        """The counts of all versions that were ever downloaded, the newest first."""
        rows = self._reader.rows(self._versions, id=mod_id, since=since)
        return [VersionCount(version, int(number), int(recent)) for version, number, recent in rows]

    def days(self, mod_id: int, since: int) -> dict[int, int]:
        """The downloads of each day from ``since`` on; days without one are absent."""
        return {day: int(number) for day, number in self._reader.rows(self._days, id=mod_id, since=since)}
