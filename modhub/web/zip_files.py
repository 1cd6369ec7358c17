"""A zip archive of files as the body of a response, made while the client takes it.

The server sends it as it sends any file that is not on the disk: its loop reads a piece whenever the socket has room.
So a slow reader holds no thread and no connection to the database, only the file that is being sent and one piece.
Nothing is compressed, hence the size is known before.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

from zipstream import ZipStream

from modhub.blobs.store import SizedFile

FileOpener = Callable[[], BinaryIO]
BYTES_AT_ONCE: Final = 65536
"""Bytes read from a file at a time."""


class ZipMember(NamedTuple):
    """A member of an archive: its name, its size in bytes, and what opens the file that has them, when it is due."""

    name: str
    size: int
    open: FileOpener


def zip_size(members: Iterable[tuple[str, int]]) -> int:
    """The size in bytes of an archive with members of these names and sizes."""
    zipped = ZipStream(sized=True)
    for name, size in members:
        zipped.add(iter(()), name, size=size)
    return len(zipped)


class ZipBody(SizedFile):
    """The archive as a file, for ``wsgi.file_wrapper``; closing it closes the member that is being sent.

    ``on_done`` is called once: when it was read to its end, or when it is closed. A client
    that has the last byte may ask for the next archive before the server closes this one.

    It can be read again from where the last read began, because a socket may take less than was read for it; nothing
    before that is kept. An error if a member cannot be opened or read, or has become shorter: the server ends it all,
    and the client misses what ``Content-Length`` has promised.
    """

    def __init__(self, members: list[ZipMember], on_done: Callable[[], None]) -> None:
        super().__init__(zip_size((member.name, member.size) for member in members))
        self._on_done: Callable[[], None] | None = on_done
        self._pieces = _zip_pieces(members)
        self._kept = bytearray()
        self._kept_from = 0

    def read(self, size: int = -1, /) -> bytes:
        """The next ``size`` bytes, less only at the end."""
        count = self._size - self._position if size < 0 else min(size, self._size - self._position)
        if count <= 0:
            return b""
        self._forget()
        while len(self._kept) < count:
            piece = next(self._pieces, b"")
            if not piece:
                raise OSError("an archive in the making has ended early")
            self._kept += piece
        self._position += count
        if self._position == self._size:
            self._finish()
        return bytes(memoryview(self._kept)[:count])

    def _forget(self) -> None:
        """Drop what is before the position; nobody reads it again."""
        passed = self._position - self._kept_from
        if not 0 <= passed <= len(self._kept):
            raise OSError("an archive in the making is read in order")
        del self._kept[:passed]
        self._kept_from = self._position

    def close(self) -> None:
        """Close the member that is being sent."""
        if self.closed:
            return
        super().close()
        self._pieces.close()
        self._finish()

    def _finish(self) -> None:
        done, self._on_done = self._on_done, None
        if done is not None:
            done()


def _zip_pieces(members: list[ZipMember]) -> Generator[bytes, None, None]:
    """The archive, piece by piece. It must not refer to its `ZipBody`, which closes itself when nobody has it."""
    zipped = ZipStream(sized=True)
    for member in members:
        zipped.add(_pieces_of(member), member.name, size=member.size)
    yield from zipped


def _pieces_of(member: ZipMember) -> Iterator[bytes]:
    left = member.size
    with member.open() as file:
        while left:
            piece = file.read(min(BYTES_AT_ONCE, left))
            if not piece:
                raise OSError("a stored file has become shorter while it was being sent")
            left -= len(piece)
            yield piece
