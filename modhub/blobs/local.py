"""Store files in a local folder, with explicit control over the order of fsync and rename (T-F1).

Layout below the root: ``staging/<key>`` until an upload is published, then ``<first two digits>/<other thirty>``.
All of it is on one file system, so that publishing is one rename.
"""

import hashlib
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from modhub.base.errors import ApiError, storage_refused, too_large
from modhub.base.repeated_lines import log_alarm, log_sometimes
from modhub.blobs.checksum_cache import ChecksumCache, is_settled, stamp_of
from modhub.blobs.disk_errors import access_errors, describe_damage, error_message, unreadable, write_errors
from modhub.blobs.store import COPY_BYTES, Blob, Readable, is_key, new_key

_STAGING = "staging"
_FOLDERS = (_STAGING, *(f"{number:02x}" for number in range(256)))

log = logging.getLogger(__name__)


class LocalStore:
    """A :class:`~modhub.blobs.store.BlobStore` on local disk. ``OSError`` if the folder cannot be created or used.

    Without ``make`` nothing is created: a read-only command must not leave a folder owned by another user than the
    service's. ``proxy_location``: where a proxy has the
    folder, if it sends the files itself; then the group of the service may read them.

    The SHA-256 is checked the first time that this process opens a file, and again whenever the file has changed
    (T-F10); every other open costs one ``fstat``.
    """

    def __init__(self, root: Path, *, make: bool = True, proxy_location: str = "") -> None:
        self._root = root
        self._proxy_location = proxy_location
        self._staging = root / _STAGING
        self._checksums = ChecksumCache()
        if make:
            self._create_folders()

    def _create_folders(self) -> None:
        root = self._root
        self._make_folder(root, parents=True)
        for name in _FOLDERS:
            self._make_folder(root / name)
        _fsync_folder(root)
        with suppress(PermissionError):  # we may have no permission to read the parent
            _fsync_folder(root.parent)

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Write the stream to the staging folder, count and hash it, then fsync."""
        key = new_key()
        try:
            return self._write(key, stream, limit)
        except BaseException:
            self.discard(key)
            raise

    def _write(self, key: str, stream: Readable, limit: int) -> Blob:
        with write_errors():
            descriptor = self._create(self._staged_path(key))
        try:
            return _copy(key, stream, descriptor, limit)
        finally:
            with write_errors():
                os.close(descriptor)

    def publish(self, key: str) -> None:
        """Rename into the shard, then fsync the shard: after that the file survives a power failure."""
        staged, published = self._staged_path(key), self._published_path(key)
        with write_errors():
            try:
                staged.rename(published)
            except FileNotFoundError:
                # The empty shard was removed. If it is the file that is missing, the second rename fails too.
                self._make_folder(published.parent)
                _fsync_folder(self._root)
                staged.rename(published)
            _fsync_folder(published.parent)

    def discard(self, key: str) -> None:
        """Remove the file of an aborted upload."""
        try:
            self._remove(key)
        except OSError as error:
            message = "an undone upload could not be removed (%s); a sweep takes it"
            log_sometimes(log, logging.WARNING, message, error_message(error))

    def put(self, blob: Blob, stream: Readable) -> None:
        """Write to the staging folder, compare, then publish."""
        staged = self._staged_path(blob.key)
        with write_errors():
            staged.unlink(missing_ok=True)  # of a copy that was killed
        try:
            if self._write(blob.key, stream, sys.maxsize) != blob:
                log_alarm(log, "a copy of the stored file %s is not what was stored", blob.key)
                raise storage_refused()
            self.publish(blob.key)
        except BaseException:
            with suppress(OSError):
                staged.unlink(missing_ok=True)
            raise

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """Open the published file unbuffered, after checking its content."""
        path = self._published_path(key)
        try:
            file = path.open("rb", buffering=0)
        except OSError as error:
            raise self._unreadable(key, describe_damage(error)) from None
        try:
            damage = self._find_damage(file, key, size, sha256)
        except OSError as error:
            damage = describe_damage(error)
        except BaseException:
            file.close()
            raise
        if damage is not None:
            file.close()
            raise self._unreadable(key, damage)
        return file

    def _unreadable(self, key: str, damage: str) -> ApiError:
        """The 503 for a file. If the folder has gone, as with its disk, the log has that, and not each file."""
        with access_errors():
            self._staging.stat()
        return unreadable(key, damage)

    def internal_address(self, key: str) -> str | None:
        """Return ``<location><first two digits>/<other thirty>``."""
        location = self._proxy_location
        return f"{location}{self._published_path(key).relative_to(self._root)}" if location else None

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Read and compare the file, ignoring earlier results."""
        path = self._published_path(key)
        try:
            with path.open("rb", buffering=0) as file:
                return _compare(file, size, sha256)
        except OSError as error:
            return describe_damage(error)

    def delete(self, key: str) -> None:
        """Unlink the file; readers that have it open are not affected."""
        with access_errors():
            self._remove(key)

    def keys(self) -> Iterator[tuple[str, float]]:
        """List the shards and the staging folder; other files are ignored."""
        with access_errors():
            with os.scandir(self._root) as entries:
                folders = {entry.name for entry in entries}.intersection(_FOLDERS)
            for folder in sorted(folders):
                prefix = "" if folder == _STAGING else folder
                for entry in _scan_entries(self._root / folder):
                    if is_key(prefix + entry.name):
                        with suppress(FileNotFoundError):
                            yield prefix + entry.name, entry.stat(follow_symlinks=False).st_mtime

    def probe(self) -> None:
        """Write one byte to a new file in the staging folder and remove it; after a crash the sweep removes it."""
        path = self._staged_path(new_key())
        with access_errors():
            try:
                descriptor = self._create(path)
                try:
                    os.write(descriptor, b"?")
                finally:
                    os.close(descriptor)
            finally:
                path.unlink(missing_ok=True)

    def _make_folder(self, path: Path, *, parents: bool = False) -> None:
        if not path.is_dir():
            path.mkdir(mode=0o700, parents=parents, exist_ok=True)
            if self._proxy_location:
                path.chmod(0o750)  # whatever the umask says

    def _create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            # As in publish. Never recreate the root: under a missing mount the files would be hidden later.
            self._make_folder(path.parent)
            descriptor = os.open(path, flags, 0o600)
        if self._proxy_location:
            os.fchmod(descriptor, 0o640)
        return descriptor

    def _remove(self, key: str) -> None:
        self._staged_path(key).unlink(missing_ok=True)
        self._published_path(key).unlink(missing_ok=True)

    def _find_damage(self, file: io.FileIO, key: str, size: int, sha256: str) -> str | None:
        stamp = stamp_of(file)
        if stamp.size == size and self._checksums.contains(key, sha256, stamp):
            return None
        damage = _compare(file, size, sha256)
        if damage is None and stamp_of(file) == stamp and is_settled(stamp):
            self._checksums.add(key, sha256, stamp)
        file.seek(0)
        return damage

    def _staged_path(self, key: str) -> Path:
        if not is_key(key):
            raise ValueError("not a key of a blob")
        return self._staging / key

    def _published_path(self, key: str) -> Path:
        if not is_key(key):
            raise ValueError("not a key of a blob")
        return self._root / key[:2] / key[2:]


def _copy(key: str, stream: Readable, descriptor: int, limit: int) -> Blob:
    """Copy, count and hash. Disk errors become 502; errors of the sender's stream are passed on."""
    digest = hashlib.sha256()
    size = 0
    while chunk := stream.read(COPY_BYTES):
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        digest.update(chunk)
        with write_errors():
            unwritten = memoryview(chunk)
            while unwritten:
                unwritten = unwritten[os.write(descriptor, unwritten) :]
    with write_errors():
        os.fsync(descriptor)
    return Blob(key, size, digest.hexdigest())


def _compare(file: io.FileIO, size: int, sha256: str) -> str | None:
    actual = os.fstat(file.fileno()).st_size
    if actual != size:
        return f"It has {actual} bytes instead of {size}."
    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
        return "Its content has changed: the SHA-256 differs."
    return None


def _scan_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        yield from entries


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
