"""The C library's allocator: freed memory is kept for the next response."""

import ctypes
import os
from typing import Final

from modhub.base.optional_calls import report_missed

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_MB: Final = 1024 * 1024
_KEPT_BYTES: Final = 8 * _MB
"""Free memory at the end of a heap that is not given back to the system. Threads have heaps of their own."""
_MAPPED_BYTES: Final = 8 * _MB
"""Larger blocks are mapped one by one, and given back at once."""
_CHOSEN_BY_OPERATOR: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")


def keep_freed_memory() -> None:
    """Let glibc keep memory that a large response has freed, instead of giving it back and asking for it again.

    Every page that the system gives costs a fault: that was a quarter of the time of a chain of 1,000 mods. Does
    nothing with another C library, or if the environment sets these thresholds (``MALLOC_TRIM_THRESHOLD_``).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    chosen = any(name in os.environ for name in _CHOSEN_BY_OPERATOR)
    if mallopt is None or chosen or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    if not (mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) and mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)):
        report_missed("mallopt", "large responses take longer", "the C library does not know a threshold")
