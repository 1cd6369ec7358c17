"""The interface of a file store, and the value that identifies a stored file.

A blob is immutable. Its key is random, never derived from its content or a name, so that undoing one upload cannot
affect another.
"""

import io
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, runtime_checkable

COPY_BYTES = 256 * 1024
"""Bytes per read or write."""

_KEY = re.compile(r"\A[0-9a-f]{32}\Z")


class StoreTrouble(Exception):
    """A call failed; the message is a clause for the log, without an address or a secret."""

    @property
    def sentence(self) -> str:
        """The message as a sentence."""
        text = str(self)
        return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True)
class Blob:
    """A stored file: its key, size in bytes and SHA-256 (64 lower-case hexadecimal digits)."""

    key: str
    size: int
    sha256: str


class SizedFile(io.RawIOBase):
    """A file of a known size that the server sends: a subclass reads what is at its ``_position``."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position; nothing is read."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def tell(self) -> int:
        """Return the position of the next byte that is read."""
        return self._position

    def readable(self) -> bool:
        """Return True: the server asks before it reads."""
        return True

    def seekable(self) -> bool:
        """Return True: the server finds out the size, and sends ranges from the middle."""
        return True


class Readable(Protocol):
    """The source of an upload: ``wsgi.input``, an open file, anything with ``read``."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, ``b""`` at the end."""


class BlobStore(Protocol):
    """A store of immutable files; every store passes :class:`modhub_testing.blob_store_rules.BlobStoreSuite`.

    ``ValueError`` for a key that :func:`is_key` rejects. Other errors are :class:`modhub.base.errors.ApiError`.
    Neither errors nor log lines contain a path, a host or a secret of the store.
    """

    def stage(self, stream: Readable, limit: int) -> Blob:
        """Write ``stream`` durably to storage that is not readable yet, and return its :class:`Blob`.

        413 ``too_large`` for more than ``limit`` bytes. 502 ``storage_refused`` for any failure of the store (full,
        read-only, missing, out of descriptors; a failed fsync is not retried). Exceptions of ``stream.read`` are passed
        on unchanged. After any error nothing of the upload is left.
        """

    def publish(self, key: str) -> None:
        """Make a staged blob durably readable before returning; else 502 ``storage_refused``.

        Called in the vote of a transaction; after a failure the caller still calls :meth:`discard`.
        """

    def discard(self, key: str) -> None:
        """Remove a blob, staged or published; no error if it is absent.

        Never raises for failures of the store, since it runs while another error is handled. What cannot be removed is
        logged and left to the sweep.
        """

    def put(self, blob: Blob, stream: Readable) -> None:
        """Store a copy of a blob from elsewhere under its own key, durable and readable; replace what is there.

        502 ``storage_refused`` if the store fails, or if the stream is not exactly the blob. Then nothing of the stream
        is left. Exceptions of ``stream.read`` are passed on unchanged.
        """

    def open(self, key: str, size: int, sha256: str) -> BinaryIO:
        """Open the blob as a seekable binary file at position 0; the caller closes it.

        An open file survives deletion of the blob (C-FILE-8). If the blob is missing, unreadable, or does not match
        ``size`` and ``sha256``: an alarm in the log and 503 ``storage_unreachable``, never wrong bytes.
        """

    def verify(self, key: str, size: int, sha256: str) -> str | None:
        """Read the whole blob and return ``None`` if it matches, else a sentence that says what is wrong."""

    def delete(self, key: str) -> None:
        """Remove a blob, staged or published; no error if absent. 503 ``storage_unreachable`` if that fails."""

    def keys(self) -> Iterator[tuple[str, float]]:
        """Iterate over (key, Unix time of the last change) of all blobs, published and staged.

        503 ``storage_unreachable`` if the store cannot be listed. A blob that is deleted in the meantime is skipped.
        """

    def probe(self) -> None:
        """Write something small and remove it; 503 ``storage_unreachable`` if that fails."""


@runtime_checkable
class RemoteFile(Protocol):
    """A file that ``open`` of a remote store may return: its content is fetched on demand."""

    def fetch(self, start: int, stop: int) -> BinaryIO:
        """Return a local file positioned at byte ``start`` with everything up to ``stop``; the caller closes it.

        The server sends such a file without a thread. Errors as in :meth:`BlobStore.open`.
        """


@runtime_checkable
class ServedByProxy(Protocol):
    """A store whose files a proxy on the same machine may send itself."""

    def internal_address(self, key: str) -> str | None:
        """Return the address at which the proxy has a published blob; None if it has none."""


@runtime_checkable
class FollowsAddress(Protocol):
    """A store whose address may change while the service runs."""

    def follow_address(self, reported: Callable[[], str | None]) -> None:
        """Use the address that ``reported`` returns, ``https://host[:port]``; None before the first report.

        ``reported`` queries the database every few seconds and does not catch its errors.
        """


class BlobStoreFactory(Protocol):
    """Opens the store of one URL scheme; registered with ``config.add_blob_store``."""

    def __call__(self, url: str, settings: Mapping[str, Any], *, make: bool) -> BlobStore:
        """Open the store at ``url``, the whole value of ``modhub.storage``; ``settings`` are all settings, parsed.

        ``make``: create what is missing, such as a folder. Without it nothing is created, so that commands such as
        ``migrate`` leave no trace. ``ValueError`` with one sentence for the operator if the store cannot be used.
        """


def new_key() -> str:
    """Return a new key: 128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


def is_key(value: str) -> bool:
    """Whether ``value`` has the form of a key; other files in a store are not ours."""
    return _KEY.match(value) is not None
