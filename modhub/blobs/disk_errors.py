"""What an error of a local disk means to the client, and what the log says of it: never a path."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from modhub.base.errors import ApiError, storage_refused, storage_unreachable
from modhub.base.repeated_lines import log_alarm

log = logging.getLogger("modhub.blobs.local")


def error_message(error: OSError) -> str:
    """The error message without the path that ``str(error)`` includes."""
    return error.strerror or type(error).__name__


def describe_damage(error: OSError) -> str:
    """Say what is wrong with a file that cannot be opened or read."""
    return "It is missing." if isinstance(error, FileNotFoundError) else f"It cannot be read: {error_message(error)}."


def unreadable(key: str, damage: str) -> ApiError:
    """Log the alarm and return the 503."""
    log_alarm(log, "stored file %s cannot be read. %s", key, damage)
    return storage_unreachable()


@contextmanager
def write_errors() -> Iterator[None]:
    """Log an I/O error of an upload and raise 502."""
    try:
        yield
    except OSError as error:
        log_alarm(log, "writing to the file store failed: %s", error_message(error))
        raise storage_refused() from None


@contextmanager
def access_errors() -> Iterator[None]:
    """Log an I/O error outside uploads and raise 503."""
    try:
        yield
    except OSError as error:
        log_alarm(log, "the file store is not available: %s", error_message(error))
        raise storage_unreachable() from None
