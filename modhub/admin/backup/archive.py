"""Checks of a backup's folder: nothing is restored from a backup that is not whole."""

from collections.abc import Iterator
from pathlib import Path

from modhub.admin.backup.files import BLOBS, live_blobs
from modhub.admin.backup.manifest import Manifest, TableEntry, blob_file, file_sha256, read_manifest, table_file
from modhub.admin.backup.tables import MAX_NUMBER
from modhub.base.settings import StartRefused
from modhub.blobs.store import Blob
from modhub.ops.progress import progress_bar


def check_archive(folder: Path) -> Manifest:
    """Compare everything with its SHA-256 and return the manifest. `StartRefused` for the first difference."""
    manifest = read_manifest(folder)
    for entry in manifest.tables:
        _check_table(folder, entry)
    count = 0
    with progress_bar("bytes of the backup checked", manifest.bytes) as advance:
        for blob in restorable_blobs(folder, manifest):
            _check_file(folder, blob)
            advance(blob.size)
            count += 1
    if count != manifest.files:
        raise StartRefused(f"the backup is damaged: its rows name {count} files, its manifest {manifest.files}")
    return manifest


def _check_table(folder: Path, entry: TableEntry) -> None:
    path = table_file(folder, entry.name)
    if (entry.last_id or 0) > MAX_NUMBER:
        raise StartRefused(f"the backup is damaged: the last id of {entry.name} is one that no database can hold")
    if file_sha256(path) != entry.sha256:
        raise StartRefused(f"the backup is damaged: {path.name} differs from its SHA-256")


def _check_file(folder: Path, blob: Blob) -> None:
    path = blob_file(folder, blob.key)
    if not path.is_file():
        raise StartRefused(f"the backup is damaged: the file {blob.key} is missing")
    if path.stat().st_size != blob.size or file_sha256(path) != blob.sha256:
        raise StartRefused(f"the backup is damaged: the file {blob.key} differs from its SHA-256")


def restorable_blobs(folder: Path, manifest: Manifest) -> Iterator[Blob]:
    """The files in the backup: all that its rows name, but for those that the store did not have whole."""
    damaged = set(manifest.damaged)
    for entry in manifest.tables:
        if entry.name == BLOBS:
            yield from (blob for blob in live_blobs(folder, entry) if blob.key not in damaged)
