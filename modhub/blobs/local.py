"""Files in a folder of this machine, written by hand so that the order of fsync and rename is ours (T-F3).

Layout below the root: ``staging/<key>`` while an upload is not decided, ``<first two digits>/<the other thirty>`` once
it is published. All on one file system, so that publishing is one rename.
"""

import hashlib
import io
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from modhub.blobs.checksum_cache import MAX_CHECKSUMS, ChecksumCache, stamp_of
from modhub.blobs.store import COPY_BYTES, Blob, Readable, is_key, new_key
from modhub.errors import ApiError, storage_refused, storage_unreachable, too_large

_STAGING = "staging"
_FOLDERS = (_STAGING, *(f"{number:02x}" for number in range(256)))

log = logging.getLogger(__name__)


class LocalStore:
    """A :class:`~modhub.blobs.store.BlobStore` on local disk. ``OSError`` when the folder cannot be made or used.

    Without ``make`` nothing is touched: who only reads must not leave a folder that belongs to another user than the
    service.

    Reading checks the SHA-256 the first time that this process opens a file, and again whenever the file has changed
    (T-F10); every other open costs one ``fstat``.
    """

    def __init__(self, root: Path, *, remembered: int = MAX_CHECKSUMS, make: bool = True) -> None:
        self._root = root
        self._staging = root / _STAGING
        self._checked = ChecksumCache(remembered)
        if make:
            self._make()

    def _make(self) -> None:
        root = self._root
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _FOLDERS:
            (root / name).mkdir(mode=0o700, exist_ok=True)
        _fsync_folder(root)
        with suppress(PermissionError):  # the parent need not be ours to read
            _fsync_folder(root.parent)

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Write the stream into the staging folder, counting, hashing and fsyncing it."""
        key = new_key()
        with _refusing():
            descriptor = self._create(self._staged(key))
        try:
            try:
                return _copy(key, stream, descriptor, limit)
            finally:
                with _refusing():
                    os.close(descriptor)
        except BaseException:
            self.discard(key)
            raise

    def publish(self, key: str) -> None:
        """Rename into the shard, then fsync the shard: from then on no power loss can lose it."""
        staged, published = self._staged(key), self._published(key)
        with _refusing():
            try:
                staged.rename(published)
            except FileNotFoundError:
                # Somebody tidied empty folders away; when it was the file that is missing, this fails again.
                published.parent.mkdir(mode=0o700, exist_ok=True)
                _fsync_folder(self._root)
                staged.rename(published)
            _fsync_folder(published.parent)

    def discard(self, key: str) -> None:
        """Remove what an undone upload made."""
        try:
            self._remove(key)
        except OSError as error:
            log.warning("an undone upload could not be removed, a sweep will take it: %s (%s)", key, _cause(error))

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """Open the published file, unbuffered, after making sure of its content."""
        path = self._published(key)
        try:
            file = path.open("rb", buffering=0)
        except OSError as error:
            raise _alarm(key, _damage_of(error)) from None
        try:
            damage = self._check(file, key, size, sha256)
        except OSError as error:
            damage = _damage_of(error)
        except BaseException:
            file.close()
            raise
        if damage is not None:
            file.close()
            raise _alarm(key, damage)
        return file

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Read the file and compare, whatever was found earlier."""
        path = self._published(key)
        try:
            with path.open("rb", buffering=0) as file:
                return _compare(file, size, sha256)
        except OSError as error:
            return _damage_of(error)

    def delete(self, key: str) -> None:
        """Unlink the file; a reader who has it open keeps it."""
        with _reaching():
            self._remove(key)

    def keys(self) -> Iterator[tuple[str, float]]:
        """Walk the shards and the staging folder; anything else lying there is not ours."""
        with _reaching():
            with os.scandir(self._root) as entries:
                folders = {entry.name for entry in entries}.intersection(_FOLDERS)
            for folder in sorted(folders):
                prefix = "" if folder == _STAGING else folder
                for entry in _entries(self._root / folder):
                    if is_key(prefix + entry.name):
                        with suppress(FileNotFoundError):
                            yield prefix + entry.name, entry.stat(follow_symlinks=False).st_mtime

    def probe(self) -> None:
        """Write one byte under a fresh key in the staging folder; a crash in between leaves it to the sweep."""
        path = self._staged(new_key())
        with _reaching():
            try:
                descriptor = self._create(path)
                try:
                    os.write(descriptor, b"?")
                finally:
                    os.close(descriptor)
            finally:
                path.unlink(missing_ok=True)

    def _create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            # As in publish. The root is never made anew: below a missing mount the files would be lost to sight.
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return os.open(path, flags, 0o600)

    def _remove(self, key: str) -> None:
        self._staged(key).unlink(missing_ok=True)
        self._published(key).unlink(missing_ok=True)

    def _check(self, file: io.FileIO, key: str, size: int, sha256: str) -> str | None:
        stamp = stamp_of(file)
        if stamp.size == size and self._checked.holds(key, sha256, stamp):
            return None
        damage = _compare(file, size, sha256)
        if damage is None and stamp_of(file) == stamp:
            self._checked.add(key, sha256, stamp)
        file.seek(0)
        return damage

    def _staged(self, key: str) -> Path:
        if not is_key(key):
            raise ValueError("not a key of a blob")
        return self._staging / key

    def _published(self, key: str) -> Path:
        if not is_key(key):
            raise ValueError("not a key of a blob")
        return self._root / key[:2] / key[2:]


def _copy(key: str, stream: Readable, descriptor: int, limit: int) -> Blob:
    """Copy, count and hash; only what the disk refuses becomes a 502, not what the sender's stream raises."""
    digest = hashlib.sha256()
    size = 0
    while chunk := stream.read(COPY_BYTES):
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        digest.update(chunk)
        with _refusing():
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
    with _refusing():
        os.fsync(descriptor)
    return Blob(key, size, digest.hexdigest())


def _compare(file: io.FileIO, size: int, sha256: str) -> str | None:
    actual = os.fstat(file.fileno()).st_size
    if actual != size:
        return f"It has {actual} bytes instead of {size}."
    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
        return "Its content is not what was stored: the SHA-256 differs."
    return None


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        yield from entries


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cause(error: OSError) -> str:
    """The error in words, without the path that ``str(error)`` would show."""
    return error.strerror or type(error).__name__


def _damage_of(error: OSError) -> str:
    return "It is missing." if isinstance(error, FileNotFoundError) else f"It cannot be read: {_cause(error)}."


def _alarm(key: str, damage: str) -> ApiError:
    log.error("ALARM: stored file %s cannot be given out. %s", key, damage)
    return storage_unreachable()


@contextmanager
def _refusing() -> Iterator[None]:
    """Trouble of the disk while storing: one line in the log, and the 502."""
    try:
        yield
    except OSError as error:
        log.error("ALARM: the file store refused a write: %s", _cause(error))
        raise storage_refused() from None


@contextmanager
def _reaching() -> Iterator[None]:
    """Trouble of the disk outside an upload: one line in the log, and the 503."""
    try:
        yield
    except OSError as error:
        log.error("ALARM: the file store cannot be reached: %s", _cause(error))
        raise storage_unreachable() from None
