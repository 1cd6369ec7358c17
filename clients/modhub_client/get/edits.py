"""Files that their user edited: a copy is kept before they are replaced or deleted."""

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path

from modhub_client.get.folder import hash_file, is_plain_directory, local_problem, open_regular, own_directory, size_of


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
        _write_whole(edited, copy)
    return copy


def _write_whole(source: io.FileIO, target: Path) -> None:
    """Copy in such a way that ``target`` is whole wherever a run ends."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as problem:
        raise local_problem(problem) from None
