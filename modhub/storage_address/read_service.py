"""The stored address, for other parts of the application."""

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import select

from modhub.raw_queries import RawQueryExecutor
from modhub.storage_address.models import THE_ROW, StoredAddress

STALE_SECONDS: Final = 2.0
"""How old a read address may be; every process must follow a change within 5 seconds (C-ADDR-3)."""


class CurrentAddress:
    """The address as the database has it, asked at most every :data:`STALE_SECONDS`; one for an application."""

    def __init__(self, reader: RawQueryExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self._statement = reader.prepare(select(StoredAddress.base_url).where(THE_ROW))
        self._known: tuple[float, str | None] | None = None

    def current(self) -> str | None:
        """``https://host[:port]``, None before the first report. Database errors go through."""
        asked = self._clock()
        known = self._known
        if known is None or asked - known[0] >= STALE_SECONDS:
            rows = self._reader.rows(self._statement)
            # The time before the asking: the answer is never older than it seems.
            known = self._known = (asked, rows[0][0] if rows else None)
        return known[1]
