"""What the storage machine has reported, and how that is stored."""

from time import monotonic
from typing import Final

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.db import bulk, now
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.storage_address.models import THE_ROW, StoredAddress

STALE_SECONDS: Final = 2.0
"""Maximum age of a cached address; every process must follow a change within 5 seconds (C-ADDR-3)."""


_ADDRESS: Final = PreparedQuery(select(StoredAddress.base_url).where(THE_ROW))


class CurrentAddress:
    """The address in the database, read at most every :data:`STALE_SECONDS`; one for each store that follows it."""

    def __init__(self, queries: RawQueryExecutor) -> None:
        self._queries = queries
        self._cached: tuple[float, str | None] | None = None

    def current(self) -> str | None:
        """``https://host[:port]``, None before the first report. Database errors propagate."""
        read_at = monotonic()
        cached = self._cached
        if cached is None or read_at - cached[0] >= STALE_SECONDS:
            rows = self._queries.rows(_ADDRESS)
            # The time before the query, so that the cached address is never older than it seems.
            cached = self._cached = (read_at, rows[0][0] if rows else None)
        return cached[1]


def store_reported_address(session: Session, base_url: str) -> bool:
    """Store the address; returns whether it changed. Of equal concurrent reports only one returns True."""
    differs = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    statement = update(StoredAddress).where(THE_ROW, differs).values(base_url=base_url, reported_at=now())
    is_new = bulk.execute_bulk(session, statement) == 1
    if is_new:
        record(session, "storage address reported", "storage", base_url)
    return is_new
