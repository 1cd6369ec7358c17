"""Anonymous reads of advisories, each in one statement."""

from typing import Final

from sqlalchemy import bindparam, func, select

from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import ISigner
from modhub.web.payload import encode
from modhub_moderation.advisories.limits import NEWEST_ADVISORIES
from modhub_moderation.advisories.models import Advisory
from modhub_moderation.advisories.schemas import AdvisoryDocument, in_canonical_order

_COLUMNS: Final = (
    Advisory.sha256,
    Advisory.kind,
    Advisory.reason,
    Advisory.advice,
    Advisory.since,
    Advisory.withdrawn_at,
)
_BY_DIGEST: Final = select(*_COLUMNS).order_by(Advisory.sha256)
_ALL: Final = PreparedQuery(_BY_DIGEST)
_WITH_PREFIX: Final = PreparedQuery(_BY_DIGEST.where(Advisory.prefix == bindparam("prefix")))
_NEWEST: Final = PreparedQuery(
    select(*_COLUMNS).order_by(Advisory.changed_at.desc(), Advisory.sha256).limit(NEWEST_ADVISORIES)
)
_COUNT: Final = PreparedQuery(select(func.count()).select_from(Advisory))
_STANDING: Final = PreparedQuery(select(Advisory.sha256).where(Advisory.withdrawn_at.is_(None)).limit(1))


class AdvisoryReader:
    """Reads advisories; made where it is used. All are public."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader

    def with_prefix(self, prefix: str) -> list[AdvisoryDocument]:
        """Those of the digests that begin so, in lower case; by digest."""
        return [_document(row) for row in self._reader.rows(_WITH_PREFIX, prefix=prefix)]

    def all(self) -> list[AdvisoryDocument]:
        """All, by digest."""
        return [_document(row) for row in self._reader.rows(_ALL)]

    def newest(self) -> list[AdvisoryDocument]:
        """Those that were made or withdrawn last, newest first."""
        return [_document(row) for row in self._reader.rows(_NEWEST)]

    def count(self) -> int:
        """How many there are, withdrawn ones included."""
        count: int = self._reader.rows(_COUNT)[0][0]
        return count

    def has_standing(self) -> bool:
        """Whether any is not withdrawn."""
        return bool(self._reader.rows(_STANDING))

    def export(self, signer: ISigner | None) -> bytes:
        """All as canonical JSON, with the signature of the rest (C-ADV-4)."""
        documents = self.all()
        last = max((document.withdrawn_at or document.since for document in documents), default=None)
        fields = {"advisories": [in_canonical_order(document) for document in documents], "changedAt": last}
        return encode({**fields, "signature": signer and signer.sign(fields)})


def _document(row: Row) -> AdvisoryDocument:
    sha256, kind, reason, advice, since, withdrawn_at = row
    withdrawn = None if withdrawn_at is None else iso(from_micros(withdrawn_at))
    return AdvisoryDocument(sha256, kind, reason, advice, iso(from_micros(since)), withdrawn)
