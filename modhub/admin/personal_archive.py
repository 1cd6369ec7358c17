"""The archive of what is stored about an account: what each package collects of it, and the files (C-DAT-2)."""

import shutil
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

import msgspec
from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import COPY_BYTES, BlobStore
from modhub.content.portable_names import portable_name
from modhub.db import bulk, iso, now
from modhub.plugins.declarations import Declarations
from modhub.plugins.moderation import IPersonalArchives

FILES_FOLDER: Final = "files"
"""The folder of the files in the archive."""
ARCHIVE_ABOUT: Final = (
    "What this service stores about your account. Each document is JSON in UTF-8; times are UTC. Not in here: what "
    "others wrote, passwords, codes and keys, which are only stored hashed or sealed, and notes of the operator."
)


class PersonalArchives:
    """See :class:`modhub.plugins.moderation.IPersonalArchives`."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def write(
        self,
        session: Session,
        account_id: int,
        file: BinaryIO,
        *,
        beat: Callable[[], object] = bool,
        skips_unreadable: bool = False,
    ) -> int:
        """Write the documents first, then the files one by one, and last what the archive is."""
        files: dict[str, int] = {}
        missing: list[str] = []
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            documents = []
            for name, collect in sorted(find_service(self._registry, Declarations).personal_data.items()):
                collected = collect(session, account_id)
                if collected is not None:
                    documents.append(f"{name}.json")
                    _write_json(archive, documents[-1], collected.document)
                    files |= {_safe_path(path): blob_id for path, blob_id in collected.files.items()}
            for path, blob in _find_blobs(session, files):
                beat()
                if not self._write_file(archive, path, blob, skips_unreadable=skips_unreadable):
                    missing.append(path)
            about = {
                "about": ARCHIVE_ABOUT,
                "service": self._registry.settings["modhub.base_url"],
                "accountId": account_id,
                "madeAt": iso(now()),
                "documents": documents,
                "files": len(files) - len(missing),
                "missingFiles": missing,
            }
            _write_json(archive, "about.json", about)
        return len(files) - len(missing)

    def _write_file(
        self, archive: zipfile.ZipFile, path: str, blob: StoredBlob | None, *, skips_unreadable: bool
    ) -> bool:
        store = find_optional_service(self._registry, BlobStore)
        if store is None or blob is None:
            return False
        try:
            source = store.open(blob.key, blob.size, blob.sha256)
        except ApiError:
            if skips_unreadable:
                return False
            raise
        with source, archive.open(_entry(path), "w", force_zip64=True) as target:
            shutil.copyfileobj(source, target, COPY_BYTES)
        return True


def _safe_path(path: str) -> str:
    """The path below the folder of files, each part a name that every system can unpack."""
    return "/".join([FILES_FOLDER, *map(portable_name, path.split("/"))])


def _find_blobs(session: Session, files: dict[str, int]) -> Iterator[tuple[str, StoredBlob | None]]:
    for batch in bulk.batches(files.items()):
        ids = [blob_id for _, blob_id in batch]
        blobs_by_id = {blob.id: blob for blob in session.scalars(select(StoredBlob).where(StoredBlob.id.in_(ids)))}
        yield from ((path, blobs_by_id.get(blob_id)) for path, blob_id in batch)


def _write_json(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(document), indent=1)
    archive.writestr(_entry(name), text, zipfile.ZIP_DEFLATED)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, now().timetuple()[:6])
    entry.external_attr = 0o600 << 16
    return entry


def includeme(config: Configurator) -> None:
    """Register the service."""
    config.add_service(IPersonalArchives, PersonalArchives(config.registry))
