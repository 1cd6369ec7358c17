"""Uploads that the server has already written to the file system of the store (ADR 003)."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modhub.base.optional_calls import report_missed
from modhub.blobs.store import COPY_BYTES


@dataclass(frozen=True, slots=True)
class SpooledFile:
    """An upload in a file without a name in the store's own folder (`TakesOverFiles`): to be read, or taken over."""

    file: BinaryIO

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, ``b""`` at the end."""
        return self.file.read(size)


def link_unnamed(descriptor: int, folder: Path, name: str) -> bool:
    """Give an unnamed file a name in ``folder``; False if that is not possible.

    The kernel refuses it on some file systems, and for a file that had a name before (an earlier attempt removed it).
    """
    try:
        folder_descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder_descriptor)
        finally:
            os.close(folder_descriptor)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            report_missed("link of an unnamed file", "uploads are written twice", error)
        return False
    return True


def hash_unnamed(descriptor: int) -> str:
    """Hash a file from its beginning; its position stays."""
    digest, buffer, position = hashlib.sha256(), memoryview(bytearray(COPY_BYTES)), 0
    while count := os.preadv(descriptor, [buffer], position):
        digest.update(buffer[:count])
        position += count
    return digest.hexdigest()
