"""Files of the folder: opened without following links, replaced atomically, and locked for one run at a time."""

import contextlib
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from modhub_client.get.outcome import DiskFull, ExitCode
from modhub_client.output import ClientError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def local_problem(problem: OSError) -> ClientError:
    """The error for a file of this machine that cannot be read or written."""
    where = f"{problem.filename}: " if problem.filename else ""
    if problem.errno in _NO_ROOM:
        return DiskFull(where)
    return ClientError(ExitCode.FOLDER, f"{where}{problem.strerror or problem}.")


def own_directory(path: Path) -> Path:
    """Make the directory if it is missing; refuse a link or anything else in its place."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir()
        mode = path.lstat().st_mode
    except OSError as problem:
        raise local_problem(problem) from None
    if not stat.S_ISDIR(mode):
        raise ClientError(
            ExitCode.FOLDER, f"{path} is a link or a file where a folder is needed; links are not followed."
        )
    return path


def is_plain_directory(path: Path) -> bool:
    """Whether there is a directory, and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def open_regular(path: Path, *, create: bool = True) -> io.FileIO:
    """Open a regular file for reading and writing, never through a link; without ``create`` for reading alone."""
    flags = (os.O_RDWR | os.O_CREAT if create else os.O_RDONLY) | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise ClientError(ExitCode.FOLDER, f"{path} is a link; links are not followed.")
        file = io.FileIO(os.open(path, flags, 0o666), "r+" if create else "r")
    except OSError as problem:
        raise local_problem(problem) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ClientError(ExitCode.FOLDER, f"{path} is not a regular file.")
    return file


def size_of(file: io.FileIO) -> int:
    """The present size of an open file."""
    return os.fstat(file.fileno()).st_size


def hash_file(file: io.FileIO) -> str:
    """The SHA-256 of an open file."""
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def load_json(path: Path) -> Any:
    """The JSON of one of our own files, None if there is no such file."""
    if not path.is_symlink() and not path.exists():
        return None
    with open_regular(path, create=False) as file:
        try:
            return json.loads(file.read())
        except (ValueError, RecursionError):
            raise ClientError(ExitCode.FOLDER, f"{path} is damaged.") from None


def replace_text(path: Path, text: str) -> None:
    """Write a file atomically: readers find the old text or the new one, after a power failure too."""
    _write_whole(path, lambda file: file.write(text.encode("utf-8")))


def _write_whole(target: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write in such a way that ``target`` is the old file or the new one, whole, wherever a run ends."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        sync_directory(target.parent)
    except OSError as problem:
        raise local_problem(problem) from None


def keep_edited(file: Path, known: set[str], into: Path) -> Path | None:
    """Copy ``file`` into the folder ``into`` unless its SHA-256 is one of ``known``; None if there is nothing to keep.

    The name has the digest in it: each edit is kept, and once.
    """
    if not is_plain_directory(file.parent) or file.is_symlink() or not file.is_file():
        return None
    with open_regular(file, create=False) as edited:
        digest = hash_file(edited)
        if not size_of(edited) or digest in known:
            return None
        own_directory(into.parent)
        copy = own_directory(into) / f"{digest[:8]}-{file.name}"
        edited.seek(0)
        _write_whole(copy, lambda file: shutil.copyfileobj(edited, file))
    return copy


def keep_copy(file: Path, copy: Path) -> None:
    """Make ``copy`` another name of a file that is about to be replaced; a real copy where that is not possible."""
    own_directory(copy.parent)
    try:
        copy.unlink(missing_ok=True)
        os.link(file, copy)
    except OSError:
        with open_regular(file, create=False) as source:
            _write_whole(copy, lambda file: shutil.copyfileobj(source, file))


def move_into_place(source: Path, target: Path) -> None:
    """Replace ``target`` by ``source`` in one step. A link at ``target`` is replaced itself."""
    try:
        source.replace(target)
        sync_directory(target.parent)
    except OSError as problem:
        raise local_problem(problem) from None


def delete_file(path: Path) -> None:
    """Delete a file, or a link itself, and its folder if that is empty then."""
    try:
        if not is_plain_directory(path.parent):
            return
        path.unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as problem:
        raise local_problem(problem) from None
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def rename_same_file(old: Path, new: Path) -> bool:
    """Give a file its new name if both names are of one file; False if they are not.

    That is so on file systems that do not tell capitals apart, if only those differ.
    """
    try:
        if old.name == new.name or not os.path.samestat(old.lstat(), new.lstat()):
            return False
        old.replace(new)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise local_problem(problem) from None
    return True


def sync_directory(path: Path) -> None:
    """Make renames in a directory survive a power failure; Windows has no such call."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the lock file; a second run in the same folder is refused at once. The system frees it if we are killed."""
    with open_regular(path) as file:
        try:
            _lock(file.fileno())
        except OSError:
            raise _in_use() from None
        if not _is_at(path, file):
            # It was removed by a run that installed nothing.
            raise _in_use()
        yield


def _in_use() -> ClientError:
    return ClientError(ExitCode.FOLDER, "Another modhub-get is working in this folder.")


def _is_at(path: Path, file: io.FileIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
