"""Where a file is, by its digest: :class:`modhub.plugins.moderation.IFileDigests`."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, exists, or_, select
from sqlalchemy.orm import Session

from modhub.blobs.models import StoredBlob
from modhub.blobs.naming import BlobNames
from modhub.catalogue.models import Asset, AssetKind, KeptFile, Note, ReservedVersion
from modhub.db import bulk
from modhub.plugins.moderation import FileUse

FORMER = "former"


class FileDigests:
    """See :class:`modhub.plugins.moderation.IFileDigests`. ``sources`` say what the files of other features are."""

    def __init__(self, sources: Mapping[str, BlobNames]) -> None:
        self._sources = sources

    def of_mods(self, session: Session, mod_ids: Collection[int]) -> list[FileUse]:
        """Four statements for five hundred mods."""
        files: list[FileUse] = []
        for ids in bulk.batches(mod_ids):
            files += _select(session, ids)
        return files

    def find(self, session: Session, digests: Collection[str]) -> list[FileUse]:
        """Four statements for five hundred digests."""
        files: list[FileUse] = []
        for batch in bulk.batches(digests):
            files += _select(session, digests=batch)
        return sorted(files, key=lambda file: file.mod_id)

    def find_others(self, session: Session, digests: Collection[str]) -> dict[str, list[str]]:
        """Ask each feature what its files are."""
        used = or_(*(exists().where(holder.blob_id == StoredBlob.id) for holder in (Asset, KeptFile)))
        stored = select(StoredBlob.id, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None), ~used)
        names_by_digest: dict[str, list[str]] = {}
        for batch in bulk.batches(digests):
            rows = session.execute(stored.where(StoredBlob.sha256.in_(batch)).order_by(StoredBlob.id))
            by_id: dict[int, str] = {row[0]: row[1] for row in rows}
            for describe in self._sources.values():
                for blob_id, name in describe(session, list(by_id)).items():
                    names_by_digest.setdefault(by_id[blob_id], []).append(name)
        return names_by_digest


def _select(
    session: Session, mod_ids: Collection[int] | None = None, digests: Collection[str] | None = None
) -> list[FileUse]:
    """The files of these mods, or with these digests: those that mods have, those kept aside, and former ones."""

    def is_asked_for(holder: Any, digest: Any) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = digest.in_(digests) if mod_ids is None else holder.mod_id.in_(mod_ids)
        return condition

    present: list[FileUse] = []
    stored: tuple[tuple[Any, Any], ...] = ((Asset, Asset.id), (KeptFile, KeptFile.blob_id))
    for holder, order in stored:
        files = select(holder.mod_id, holder.kind, holder.name, StoredBlob.sha256).join(holder.blob)
        rows = session.execute(files.where(is_asked_for(holder, StoredBlob.sha256)).order_by(order))
        present += [FileUse(mod_id, kind, name, sha256, holder is KeptFile) for mod_id, kind, name, sha256 in rows]
    code = {(file.mod_id, file.sha256) for file in present if file.kind == AssetKind.CODE}
    former: list[FileUse] = []
    named: tuple[tuple[Any, Any], ...] = ((Note, Note.id.desc()), (ReservedVersion, ReservedVersion.version))
    for holder, order in named:
        versions = select(holder.mod_id, holder.version, holder.sha256)
        for mod_id, version, sha256 in session.execute(
            versions.where(is_asked_for(holder, holder.sha256)).order_by(order)
        ):
            if (mod_id, sha256) not in code:
                former.append(FileUse(mod_id, FORMER, version, sha256))
    return present + former
