"""The tombstones of the list feeds: what the change feed says about mods that are not there any more.

The id of an Atom entry belongs to a version of a mod, so that readers show a new version as new. Of a deleted mod only
the GUID is kept, so ``at:deleted-entry`` names ``urn:uuid:`` and the GUID, which every entry has as its link ``about``.
"""

from typing import Final

from msgspec import Struct
from sqlalchemy import select

from modhub.db import from_micros, iso
from modhub.db.changes import MOD, PublicChange, What
from modhub.db.raw_queries import RawQueryExecutor

_CONSIDERED: Final = 1000
"""The latest changes of the service among which deletions are looked for: the time does not grow with the catalogue."""
_SHOWN: Final = 100


class ModTombstone(Struct, frozen=True):
    """A mod that has been deleted, or hidden by an operator."""

    serial: int
    guid: str
    at: str
    what: str = What.DELETED.value


class TombstoneReader:
    """Reads tombstones; one per application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        columns = (PublicChange.serial, PublicChange.kind, PublicChange.key, PublicChange.what, PublicChange.at)
        latest = select(*columns).order_by(PublicChange.serial.desc()).limit(_CONSIDERED).subquery()
        deleted = select(latest.c.serial, latest.c.key, latest.c.at).where(
            latest.c.kind == MOD, latest.c.what == What.DELETED.value
        )
        self._newest = reader.prepare(deleted.order_by(latest.c.serial.desc()).limit(_SHOWN))

    def newest(self) -> list[ModTombstone]:
        """Return the latest deletions, newest first, in one statement."""
        rows = self._reader.rows(self._newest)
        return [ModTombstone(serial, guid, iso(from_micros(at))) for serial, guid, at in rows]
