"""The backup whose files a new one shares by hard links (ADR 026)."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from modhub.admin.backup.manifest import FILE_MODE, Manifest, blob_file, has_manifest, read_manifest
from modhub.base.settings import StartRefused
from modhub.blobs.store import Blob


class FileLink(Enum):
    """What became of a file that was to be shared."""

    MADE = auto()
    IMPOSSIBLE = auto()
    """The earlier backup does not have it, or the file system refuses the link."""
    DAMAGED = auto()
    """The earlier backup has it, but not whole."""


def find_earlier_backup(folder: Path) -> Path | None:
    """The newest finished backup in the folder that holds ``folder``, if hard links can lead to it."""
    backups = [(read.created_at, path) for path in _siblings(folder) for read in _read(path)]
    newest = max(backups, default=None)
    return newest[1] if newest is not None and _device(newest[1]) == _device(folder) else None


def _siblings(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from folder.absolute().parent.iterdir()


def _read(path: Path) -> Iterator[Manifest]:
    with suppress(StartRefused, OSError):
        if has_manifest(path):
            yield read_manifest(path)


def existing_folder(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists already."""
    path = folder.absolute()
    return next((place for place in (path, *path.parents) if place.is_dir()), path)


def _device(folder: Path) -> int:
    return existing_folder(folder).stat().st_dev


def has_size(earlier: Path, blob: Blob) -> bool:
    """Whether the backup has a file of this size under the blob's key."""
    try:
        return blob_file(earlier, blob.key).stat().st_size == blob.size
    except OSError:
        return False


def link_file(earlier: Path, blob: Blob, target: Path) -> FileLink:
    """Give the file of an earlier backup a second name, after comparing it with its SHA-256.

    Only a file of this user is shared, and nobody may write to it: neither backup can change the other.
    """
    source = blob_file(earlier, blob.key)
    try:
        with source.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid():
                return FileLink.IMPOSSIBLE
            if status.st_size != blob.size or hashlib.file_digest(file, "sha256").hexdigest() != blob.sha256:
                return FileLink.DAMAGED
            os.fchmod(file.fileno(), FILE_MODE)
    except (FileNotFoundError, PermissionError):
        return FileLink.IMPOSSIBLE
    except OSError:
        return FileLink.DAMAGED
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        # EXDEV, EMLINK, EPERM, or a backup that was removed just now: copying says what else is wrong.
        return FileLink.IMPOSSIBLE
    return FileLink.MADE
