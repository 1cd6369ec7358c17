"""System calls that the service can do without: where a sandbox refuses one, the log says once what is missed."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)
_reported: set[str] = set()
_PASSING = frozenset((errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""Faults of the moment: what is done instead meets them again, and says so."""


def report_missed(call: str, consequence: str, error: Exception | str) -> None:
    """Log that the system refuses ``call``, and what follows from that: once in a process for each call."""
    if call not in _reported and getattr(error, "errno", None) not in _PASSING:
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
