"""Looks at the names in a zip archive, without unpacking anything: its directory stands uncompressed at its end."""

import re
import struct
from collections.abc import Callable, Iterator
from typing import Annotated, Final

import msgspec

from modhub.base.operations import about
from modhub.content import limits, text
from modhub.content.limits import KB, MB

ReadRange = Callable[[int, int], bytes]
MAX_DIRECTORY: Final = 4 * MB
"""Bytes of a directory that is read; about 50,000 files."""
MAX_PROBLEMS: Final = 50
_FILE_START: Final = b"PK\x03\x04"
_END: Final = struct.Struct("<4s4H2LH")
_END_SIGNATURE: Final = b"PK\x05\x06"
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_ENTRY_SIGNATURE: Final = b"PK\x01\x02"
_UTF8: Final = 0x800
_MAX_COMMENT: Final = 64 * KB
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class ArchiveProblem(msgspec.Struct):
    """A name in an archive that unpackers refuse or misplace.

    ``problem`` is ``parent_folder``, ``absolute``, ``duplicate``, or ``unreadable`` for the whole archive.
    """

    name: Annotated[str, about("The name in the archive; empty if the problem is of all of it", "../hud.lua")]
    problem: Annotated[
        str,
        about("`parent_folder`, `absolute` or `duplicate`; `unreadable` is about the whole file", "parent_folder"),
    ]


def find_archive_problems(read: ReadRange, size: int) -> list[ArchiveProblem]:
    """Return the problems of a file of ``size`` bytes; none if it is not a zip archive.

    ``read`` returns the bytes from one position up to another.
    """
    start = max(0, size - _END.size - _MAX_COMMENT)
    tail = read(start, size)
    place = tail.rfind(_END_SIGNATURE)
    if place < 0 or len(tail) - place < _END.size:
        is_cut = size >= len(_FILE_START) and read(0, len(_FILE_START)) == _FILE_START
        return [ArchiveProblem("", "unreadable")] if is_cut else []
    *_, length, _offset, _comment = _END.unpack_from(tail, place)
    begin = start + place - length
    if length > MAX_DIRECTORY or begin < 0:
        return [ArchiveProblem("", "unreadable")]
    names = list(_names(read(begin, begin + length)))
    if None in names:
        return [ArchiveProblem("", "unreadable")]
    return list(_judge(name for name in names if name is not None))


def _names(directory: bytes) -> Iterator[str | None]:
    """The names in a directory; None if it is damaged."""
    place = 0
    while place < len(directory):
        if len(directory) - place < _ENTRY.size:
            yield None
            return
        fields = _ENTRY.unpack_from(directory, place)
        signature, flags, name_length, extra, comment = fields[0], fields[3], *fields[10:13]
        name = directory[place + _ENTRY.size : place + _ENTRY.size + name_length]
        if signature != _ENTRY_SIGNATURE or len(name) < name_length:
            yield None
            return
        yield name.decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        place += _ENTRY.size + name_length + extra + comment


def _judge(names: Iterator[str]) -> Iterator[ArchiveProblem]:
    seen: set[str] = set()
    count = 0
    for name in names:
        path = name.replace("\\", "/")
        # Windows and macOS do not tell capitals apart.
        folded = path.casefold()
        problem = _problem_of(path) or ("duplicate" if folded in seen else "")
        seen.add(folded)
        if problem:
            yield ArchiveProblem(text.line(name, limits.FILE_NAME), problem)
            count += 1
            if count == MAX_PROBLEMS:
                return


def _problem_of(path: str) -> str:
    if path.startswith("/") or _DRIVE.match(path):
        return "absolute"
    return "parent_folder" if ".." in path.split("/") else ""
