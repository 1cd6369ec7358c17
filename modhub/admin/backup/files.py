"""The files of a backup: links to the newest earlier one, or copies from the store."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from modhub.admin.backup.earlier import FileLink, link_file
from modhub.admin.backup.manifest import TableEntry, blob_file, new_file
from modhub.admin.backup.tables import read_rows
from modhub.base.errors import ApiError
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import COPY_BYTES, Blob, is_key
from modhub.ops.progress import progress_bar

BLOBS: Final = StoredBlob.__tablename__


def live_blobs(folder: Path, entry: TableEntry) -> Iterator[Blob]:
    """The files that the rows of a backup name; one that is trash is none of them."""
    at = {column.name: index for index, column in enumerate(entry.columns)}
    for row in read_rows(folder, entry):
        blob = Blob(row[at["key"]], row[at["size"]], row[at["sha256"]])
        if not (isinstance(blob.key, str) and is_key(blob.key)):
            # It could be a path to anywhere. A sweep would delete trash by it, and fail every night.
            raise StartRefused("the backup is damaged: a row names a stored file by something that is not a key")
        if row[at["trashed_at"]] is None:
            yield blob


@dataclass(slots=True)
class FileReport:
    """What became of the files of a backup."""

    files: int = 0
    bytes: int = 0
    linked: int = 0
    linked_bytes: int = 0
    damaged: list[str] = field(default_factory=list)
    """The keys of files that the store does not have whole, and neither has the backup."""
    saved: list[str] = field(default_factory=list)
    """The keys of files that the store does not have whole, and the earlier backup had."""
    replaced: list[str] = field(default_factory=list)
    """The keys of files that the earlier backup does not have whole."""


class FileCollection:
    """Brings the files of the rows into the folder of a backup.

    Every file of the store is read, whether it is linked or copied, so that each backup finds what is damaged there.
    """

    def __init__(self, store: BlobStore | None, folder: Path, earlier: Path | None) -> None:
        self.report = FileReport()
        self._store = store
        self._folder = folder
        self._earlier = earlier

    def collect(self, entry: TableEntry) -> None:
        """Link or copy every file that the rows name. A store that is away ends the backup."""
        total = sum(blob.size for blob in live_blobs(self._folder, entry))
        with progress_bar("bytes of files", total) as advance:
            for blob in live_blobs(self._folder, entry):
                if self._store is None:
                    raise StartRefused("the setting modhub.storage is empty, but the database names files")
                self._take(self._store, blob)
                advance(blob.size)

    def _take(self, store: BlobStore, blob: Blob) -> None:
        report = self.report
        path = blob_file(self._folder, blob.key)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if self._link(blob, path):
            report.linked += 1
            report.linked_bytes += blob.size
            if store.verify(blob.key, blob.size, blob.sha256) is not None:
                store.probe()
                report.saved.append(blob.key)
        elif not _copy(store, blob, path):
            # Raises if it is not the file but the store.
            store.probe()
            report.damaged.append(blob.key)
            return
        report.files += 1
        report.bytes += blob.size

    def _link(self, blob: Blob, path: Path) -> bool:
        if self._earlier is None:
            return False
        link = link_file(self._earlier, blob, path)
        if link is FileLink.DAMAGED:
            self.report.replaced.append(blob.key)
        return link is FileLink.MADE


def _copy(store: BlobStore, blob: Blob, path: Path) -> bool:
    """Copy a file from the store; False if that does not have it whole."""
    try:
        source = store.open(blob.key, blob.size, blob.sha256)
    except ApiError:
        return False
    digest = hashlib.sha256()
    with source, new_file(path) as target:
        while chunk := source.read(COPY_BYTES):
            digest.update(chunk)
            target.write(chunk)
    if digest.hexdigest() != blob.sha256:
        path.unlink()
        return False
    return True
