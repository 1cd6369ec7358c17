"""Anonymous reads of advisories, each in one statement."""

from typing import Final

from sqlalchemy import bindparam, func, select

from modhub.db import from_micros, iso
from modhub.db.raw_queries import RawQueryExecutor, Row
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


class AdvisoryReader:
    """Reads advisories; one per application. All are public."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        by_digest = select(*_COLUMNS).order_by(Advisory.sha256)
        newest = select(*_COLUMNS).order_by(Advisory.changed_at.desc(), Advisory.sha256).limit(NEWEST_ADVISORIES)
        self._all = reader.prepare(by_digest)
        self._with_prefix = reader.prepare(by_digest.where(Advisory.prefix == bindparam("prefix")))
        self._newest = reader.prepare(newest)
        self._count = reader.prepare(select(func.count()).select_from(Advisory))
        self._standing = reader.prepare(select(Advisory.sha256).where(Advisory.withdrawn_at.is_(None)).limit(1))

    def with_prefix(self, prefix: str) -> list[AdvisoryDocument]:
        """Those of the digests that begin so, in lower case; by digest."""
        return [_document(row) for row in self._reader.rows(self._with_prefix, prefix=prefix)]

    def all(self) -> list[AdvisoryDocument]:
        """All, by digest."""
        return [_document(row) for row in self._reader.rows(self._all)]

    def newest(self) -> list[AdvisoryDocument]:
        """Those that were made or withdrawn last, newest first."""
        return [_document(row) for row in self._reader.rows(self._newest)]

    def count(self) -> int:
        """How many there are, withdrawn ones included."""
        count: int = self._reader.rows(self._count)[0][0]
        return count

    def has_standing(self) -> bool:
        """Whether any is not withdrawn."""
        return bool(self._reader.rows(self._standing))

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
