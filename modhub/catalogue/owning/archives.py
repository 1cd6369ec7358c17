"""Looks at a code file while it is uploaded: whether it is a file at all, and at the names in a zip archive.

Nothing is unpacked: the directory of an archive stands uncompressed at its end. What is found is stored with the file.
"""

import re
import struct
import time
from collections.abc import Iterator
from typing import Annotated, Final

import msgspec

from modhub.base.errors import invalid
from modhub.base.operations import about
from modhub.content import limits, text
from modhub.content.limits import KB, MB

MAX_DIRECTORY: Final = 4 * MB
"""Bytes of a directory that is read; about 50,000 files."""
DIRECTORY_SECONDS: Final = 0.05
"""Processor time that an archive may take. What was found until then holds."""
MAX_PROBLEMS: Final = 50
_FILE_START: Final = b"PK\x03\x04"
_END: Final = struct.Struct("<4s4H2LH")
_END_SIGNATURE: Final = b"PK\x05\x06"
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_ENTRY_SIGNATURE: Final = b"PK\x01\x02"
_UTF8: Final = 0x800
_MAX_COMMENT: Final = 64 * KB
END_BYTES: Final = MAX_DIRECTORY + _END.size + _MAX_COMMENT
"""Bytes at the end of a file that are looked at."""
_ZIP_TYPES: Final = ("application/zip", "application/x-zip-compressed")
_NO_FILE: Final = re.compile(rb"\{\}|\[object [^\]]{0,55}\]")
"""What ``JSON.stringify`` and ``String`` of JavaScript make of a file."""
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


def judge_code(head: bytes, end: bytes, name: str, content_type: str) -> list[dict[str, str]] | None:
    """Return what `find_archive_problems` finds as it is stored; None if that is nothing.

    400 for what programs send that have made text of their file: it would be published for good, and no mod is that.
    """
    if len(end) < END_BYTES and _NO_FILE.fullmatch(end.strip()):
        raise invalid("The body is the text that a program made of its file. Send the bytes of the file itself.")
    is_named_zip = name.lower().endswith(".zip") or content_type.partition(";")[0].strip().lower() in _ZIP_TYPES
    return msgspec.to_builtins(find_archive_problems(head, end, must_be_zip=is_named_zip)) or None


class _DamagedDirectory(ValueError):
    """The directory of an archive ends early, or is none."""


def find_archive_problems(head: bytes, end: bytes, *, must_be_zip: bool = False) -> list[ArchiveProblem]:
    """Return the problems of a file; none if it is not a zip archive, unless it is called one.

    ``head``: its first bytes. ``end``: its last `END_BYTES`, or all of it.
    """
    place = end.rfind(_END_SIGNATURE, max(0, len(end) - _END.size - _MAX_COMMENT))
    if place < 0 or len(end) - place < _END.size:
        return [ArchiveProblem("", "unreadable")] if must_be_zip or head.startswith(_FILE_START) else []
    *_, length, _offset, _comment = _END.unpack_from(end, place)
    if length > min(MAX_DIRECTORY, place):
        return [ArchiveProblem("", "unreadable")]
    try:
        return _judge(_names(end[place - length : place]))
    except _DamagedDirectory:
        return [ArchiveProblem("", "unreadable")]


def _names(directory: bytes) -> Iterator[str]:
    """The names in a directory, as long as there is time."""
    place, latest = 0, time.thread_time() + DIRECTORY_SECONDS
    while place < len(directory) and time.thread_time() < latest:
        if len(directory) - place < _ENTRY.size:
            raise _DamagedDirectory
        fields = _ENTRY.unpack_from(directory, place)
        signature, flags, name_length, extra, comment = fields[0], fields[3], *fields[10:13]
        name = directory[place + _ENTRY.size : place + _ENTRY.size + name_length]
        if signature != _ENTRY_SIGNATURE or len(name) < name_length:
            raise _DamagedDirectory
        yield name.decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        place += _ENTRY.size + name_length + extra + comment


def _judge(names: Iterator[str]) -> list[ArchiveProblem]:
    problems: list[ArchiveProblem] = []
    seen: set[str] = set()
    for name in names:
        path = name.replace("\\", "/")
        # Windows and macOS do not tell capitals apart.
        folded = path.casefold()
        problem = _problem_of(path) or ("duplicate" if folded in seen else "")
        seen.add(folded)
        if problem and len(problems) < MAX_PROBLEMS:
            problems.append(ArchiveProblem(text.line(name[: 2 * limits.FILE_NAME], limits.FILE_NAME), problem))
    return problems


def _problem_of(path: str) -> str:
    if path.startswith("/") or _DRIVE.match(path):
        return "absolute"
    return "parent_folder" if ".." in path.split("/") else ""
