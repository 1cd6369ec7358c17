"""What a store remembers of the files whose content it found right, so that it hashes each one once (T-F10)."""

import os
import time
from collections import OrderedDict
from threading import Lock
from typing import BinaryIO, NamedTuple

SETTLED_NS = 2_000_000_000
"""A change younger than this may share its time stamp with the next one: file systems stamp in ticks of up to 2 s."""

MAX_CHECKSUMS = 10_000
"""How many files a store remembers (a few hundred bytes each)."""


class Stamp(NamedTuple):
    """What tells that a file is still the one it was: no write leaves all of these alone."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stamp_of(file: BinaryIO) -> Stamp:
    """The stamp of an open file; ``OSError`` when it cannot be had."""
    status = os.fstat(file.fileno())
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class ChecksumCache:
    """The files that were checked, each with its stamp at that time; at most ``bound``, the least used go first."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._stamps: OrderedDict[tuple[str, str], Stamp] = OrderedDict()
        self._lock = Lock()

    def holds(self, key: str, sha256: str, stamp: Stamp) -> bool:
        """Whether this very file was found to have this hash and has not been touched since."""
        with self._lock:
            if self._stamps.get((key, sha256)) != stamp:
                return False
            self._stamps.move_to_end((key, sha256))
            return True

    def add(self, key: str, sha256: str, stamp: Stamp) -> None:
        """Remember a check, unless the file is so young that a later change could bear the same stamp."""
        if time.time_ns() - max(stamp.mtime_ns, stamp.ctime_ns) < SETTLED_NS:
            return
        with self._lock:
            self._stamps[key, sha256] = stamp
            while len(self._stamps) > self._bound:
                self._stamps.popitem(last=False)
