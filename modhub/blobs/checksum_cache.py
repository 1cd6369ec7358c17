"""Files whose SHA-256 a store has already verified, so that it hashes each one once (T-F10)."""

import os
import time
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import BinaryIO, NamedTuple

SETTLED_NS = 2_000_000_000
"""Nanoseconds within which two changes may have the same time stamp: some file systems have ticks of 2 s."""

MAX_CHECKSUMS = 10_000
"""Entries in the cache of one store (a few hundred bytes each)."""


class Stamp(NamedTuple):
    """Identifies one state of a file: any write changes at least one of these fields."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stamp_of(file: BinaryIO) -> Stamp:
    """Return the stamp of an open file; ``OSError`` if ``fstat`` fails."""
    status = os.fstat(file.fileno())
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_settled(stamp: Stamp) -> bool:
    """Whether the last change is so old that a later change cannot have the same stamp."""
    return time.time_ns() - max(stamp.mtime_ns, stamp.ctime_ns) >= SETTLED_NS


class ChecksumCache:
    """LRU cache of verified files and their stamps, with at most `MAX_CHECKSUMS` entries.

    A stamp is whatever changes with the file: a :class:`Stamp`, or an object store's ``ETag``.
    """

    def __init__(self) -> None:
        self._stamps: OrderedDict[tuple[str, str], Hashable] = OrderedDict()
        self._lock = Lock()

    def contains(self, key: str, sha256: str, stamp: Hashable) -> bool:
        """Whether this file was verified against this hash and has not changed since."""
        with self._lock:
            if self._stamps.get((key, sha256)) != stamp:
                return False
            self._stamps.move_to_end((key, sha256))
            return True

    def add(self, key: str, sha256: str, stamp: Hashable) -> None:
        """Record a verified file. A stamp with times must be settled."""
        with self._lock:
            self._stamps[key, sha256] = stamp
            while len(self._stamps) > MAX_CHECKSUMS:
                self._stamps.popitem(last=False)
