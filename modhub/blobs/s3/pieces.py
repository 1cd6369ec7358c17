"""An upload's stream, cut into the pieces of a multipart upload, counted and hashed on its way."""

import hashlib
from collections.abc import Iterator
from typing import Final

from modhub.base.errors import too_large
from modhub.blobs.store import COPY_BYTES, Readable

PIECE_BYTES: Final = 5 * 1024 * 1024
"""The least that S3 takes as a piece: few of them in memory, and each within its time on a slow line."""


class UploadPieces:
    """Reads a stream of at most ``limit`` bytes; afterwards ``size`` and the hashes are those of the whole.

    ``error`` is what the stream raised: the sender's trouble, which is told from the store's.
    """

    def __init__(self, stream: Readable, limit: int) -> None:
        self.size = 0
        self.error: BaseException | None = None
        self._stream = stream
        self._limit = limit
        self._digest = hashlib.sha256()
        self._md5s: list[bytes] = []

    def read(self) -> bytes:
        """The next piece: shorter than :data:`PIECE_BYTES` at the end alone."""
        try:
            return self._read()
        except BaseException as error:
            self.error = error
            raise

    def all(self, first: bytes) -> Iterator[bytes]:
        """``first``, which was read already, and all that follow."""
        piece = first
        while piece:
            yield piece
            piece = self.read() if len(piece) == PIECE_BYTES else b""

    @property
    def sha256(self) -> str:
        """Of all that was read."""
        return self._digest.hexdigest()

    def proves(self, etag: str | None) -> bool:
        """Whether an ETag is the one that S3 gives to exactly these bytes.

        Without a server's own encryption that is their MD5, or the MD5 of those of the pieces and their number.
        """
        if len(self._md5s) == 1 and self.size < PIECE_BYTES:
            own = self._md5s[0].hex()
        else:
            own = f"{hashlib.md5(b''.join(self._md5s), usedforsecurity=False).hexdigest()}-{len(self._md5s)}"
        return etag is not None and etag.strip('"') == own

    def _read(self) -> bytes:
        piece = bytearray()
        while len(piece) < PIECE_BYTES and (chunk := self._stream.read(min(COPY_BYTES, PIECE_BYTES - len(piece)))):
            piece += chunk
            self._digest.update(chunk)
            self.size += len(chunk)
            if self.size > self._limit:
                raise too_large(self._limit)
        if piece or not self._md5s:
            self._md5s.append(hashlib.md5(piece, usedforsecurity=False).digest())
        return bytes(piece)
