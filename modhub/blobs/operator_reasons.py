"""File store problems in one sentence for the operator, with what the disk or the object store said."""

from typing import Final

from modhub.base.errors import ApiError
from modhub.blobs.disk_errors import error_message
from modhub.blobs.store import StoreTrouble

_FAILURES: Final = {
    "storage_refused": "the file store cannot be written",
    "storage_unreachable": "the file store cannot be read",
}
"""What operators read instead of the sentences for clients, by code of the error."""


def store_reason(error: ApiError) -> str:
    """The cause of a failure of the store in brackets, after a space; empty if only the log knows it."""
    cause = error.__context__
    if isinstance(cause, OSError):
        return f" ({error_message(cause)})"
    return f" ({cause})" if isinstance(cause, StoreTrouble) else ""


def failure_sentence(error: ApiError) -> str:
    """The sentence of ``error``; of a store that failed with its cause, which is not for clients."""
    return f"{_FAILURES[error.code]}{store_reason(error)}" if error.code in _FAILURES else str(error)


def operator_sentence(error: ApiError) -> str:
    """The same for a command."""
    again = "; finished work is kept, run the command again" if error.code in _FAILURES else ""
    return f"{failure_sentence(error)}{again}"
