"""Where a file is, by its digest: the service :class:`modhub.interfaces.IFileDigests`."""

from collections.abc import Collection, Mapping

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from modhub.blobs.models import StoredBlob
from modhub.blobs.naming import BlobNames
from modhub.catalogue.models import Asset, AssetKind, Note
from modhub.db import bulk
from modhub.interfaces import ModFile

FORMER = "former"


class FileDigests:
    """See :class:`modhub.interfaces.IFileDigests`. ``sources`` say what the files of other features are."""

    def __init__(self, sources: Mapping[str, BlobNames]) -> None:
        self._sources = sources

    def of_mods(self, session: Session, mod_ids: Collection[int]) -> list[ModFile]:
        """Two statements for a hundred mods."""
        files: list[ModFile] = []
        for ids in bulk.batches(mod_ids):
            files += _select(session, Asset.mod_id.in_(ids), Note.mod_id.in_(ids))
        return files

    def find(self, session: Session, digests: Collection[str]) -> list[ModFile]:
        """Two statements for a hundred digests."""
        files: list[ModFile] = []
        for batch in bulk.batches(digests):
            files += _select(session, StoredBlob.sha256.in_(batch), Note.sha256.in_(batch))
        return sorted(files, key=lambda file: file.mod_id)

    def find_others(self, session: Session, digests: Collection[str]) -> dict[str, list[str]]:
        """Ask each feature what its files are."""
        used = exists().where(Asset.blob_id == StoredBlob.id)
        stored = select(StoredBlob.id, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None), ~used)
        found: dict[str, list[str]] = {}
        for batch in bulk.batches(digests):
            rows = session.execute(stored.where(StoredBlob.sha256.in_(batch)).order_by(StoredBlob.id))
            by_id: dict[int, str] = {row[0]: row[1] for row in rows}
            for describe in self._sources.values():
                for blob_id, name in describe(session, list(by_id)).items():
                    found.setdefault(by_id[blob_id], []).append(name)
        return found


def _select(session: Session, of_assets: ColumnElement[bool], of_notes: ColumnElement[bool]) -> list[ModFile]:
    assets = select(Asset.mod_id, Asset.kind, Asset.name, StoredBlob.sha256).join(Asset.blob).where(of_assets)
    present = [ModFile(*row) for row in session.execute(assets.order_by(Asset.id))]
    code = {(file.mod_id, file.sha256) for file in present if file.kind == AssetKind.CODE}
    notes = select(Note.mod_id, Note.version, Note.sha256).where(of_notes).order_by(Note.id.desc())
    former = [
        ModFile(mod_id, FORMER, version, sha256)
        for mod_id, version, sha256 in session.execute(notes)
        if (mod_id, sha256) not in code
    ]
    return present + former
