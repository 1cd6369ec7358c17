"""What a file store is: the value that names a stored file, and the interface that every store provides.

A blob is immutable and has a key of its own, made at random for each upload (never from the content or from a name), so
that undoing one upload can never touch what another one stored.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

COPY_BYTES = 256 * 1024
"""Bytes that are read or written at once."""

_KEY = re.compile(r"\A[0-9a-f]{32}\Z")


@dataclass(frozen=True)
class Blob:
    """One stored file: its key, its size in bytes, the SHA-256 of its content (64 lower-case hexadecimal digits)."""

    key: str
    size: int
    sha256: str


class Readable(Protocol):
    """What an upload is read from: ``wsgi.input``, an open file, anything with ``read``."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; ``b""`` at the end."""


class BlobStore(Protocol):
    """A store of immutable files; every store passes :class:`modhub.blobs.testing.BlobStoreSuite`.

    A key that :func:`is_key` denies is a ``ValueError``. Refusals are :class:`modhub.errors.ApiError`; neither they nor
    the log name a path, a host or a secret of the store.
    """

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Read ``stream`` to its end into durable storage that nobody reads yet, and return its :class:`Blob`.

        More than ``limit`` bytes is the 413 ``too_large`` with that limit. Any trouble of the store (full, read-only,
        gone, out of descriptors; an fsync that fails is not tried again) is the 502 ``storage_refused``. What
        ``stream.read`` itself raises is the sender's trouble and goes through untouched. After any of these nothing of
        the upload is left.
        """

    def publish(self, key: str) -> None:
        """Make a staged blob readable, durably, before returning; else 502 ``storage_refused``.

        Called while a transaction votes; after a failure the caller still calls :meth:`discard`.
        """

    def discard(self, key: str) -> None:
        """Take back a blob, staged or published; absent is fine.

        Never raises for the store's own troubles, since it runs while something else is already failing: what cannot
        be removed is logged, and a sweep takes it.
        """

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """A binary, seekable file at position 0 that holds exactly what was stored; the caller closes it.

        It keeps giving the old bytes when the blob is deleted meanwhile (C-FILE-8). Missing, unreadable, or not
        ``size`` bytes with that ``sha256``: an alarm in the log and the 503 ``storage_unreachable``, never wrong bytes.
        """

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Read the whole blob: ``None`` when it is what it should be, else a sentence that says what is wrong."""

    def delete(self, key: str) -> None:
        """Remove a blob, staged or published; absent is fine. 503 ``storage_unreachable`` when it cannot be removed."""

    def keys(self) -> Iterator[tuple[str, float]]:
        """Iterate over ``(key, seconds since the epoch of its last change)`` of all blobs, published and staged.

        503 ``storage_unreachable`` when the store cannot be listed; a blob that goes meanwhile is left out.
        """

    def probe(self) -> None:
        """Write something small and remove it again; 503 ``storage_unreachable`` when that does not work."""


class BlobStoreFactory(Protocol):
    """Opens the store of one URL scheme; given with ``config.add_blob_store``."""

    def __call__(self, url: str, settings: Mapping[str, Any], *, make: bool) -> BlobStore:
        """The store at ``url``, the whole setting ``modhub.storage``; ``settings`` are all, as they were declared.

        ``make``: make what is missing, such as a folder. Without it nothing is made: a command such as ``migrate``
        leaves no trace. What cannot be used is a ``ValueError`` with one sentence for the operator.
        """


def new_key() -> str:
    """A fresh key: 32 hexadecimal characters, 128 random bits."""
    return secrets.token_hex(16)


def is_key(value: str) -> bool:
    """Whether ``value`` has the form of a key; anything else found in a store is not ours."""
    return _KEY.match(value) is not None
