"""System calls that the service can do without: where a sandbox refuses one, the log says once what is missed."""

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from modhub.base.system_faults import is_system_fault

PR_SET_DUMPABLE: Final = 4

log = logging.getLogger(__name__)
_reported: set[str] = set()


def report_missed(call: str, consequence: str, error: Exception | str) -> None:
    """Log that the system refuses ``call``, and what follows from that: once in a process for each call.

    Not of a full disk and the like: what is done instead meets the same fault, and says so.
    """
    if call not in _reported and not is_system_fault(error):
        _reported.add(call)
        reason = getattr(error, "strerror", None) or error
        log.warning("the system refuses %s (%s): %s", call, reason, consequence)


@contextmanager
def optional_call(call: str, consequence: str) -> Iterator[None]:
    """Go on after the block if the system refuses the call in it, and report that.

    ValueError is how the module ``resource`` says that it is not permitted.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        report_missed(call, consequence, error)


def hide_process() -> None:
    """Keep this process's environment and memory, which hold secrets, from other processes of its user."""
    library = ctypes.CDLL(None, use_errno=True)
    with optional_call("PR_SET_DUMPABLE", "other processes of its user may read the secrets of the service"):
        if library.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
