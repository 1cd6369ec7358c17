"""Errors of the system that say nothing about the request or the code: a full or read-only disk, too little memory."""

import errno
from typing import TypeGuard

_ERRNOS = frozenset(
    (
        errno.EAGAIN,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EROFS,
    )
)


def is_system_fault(error: object) -> TypeGuard[OSError]:
    """Whether this is such an error: it passes when the operator has mended its cause."""
    return isinstance(error, OSError) and error.errno in _ERRNOS
