"""Runs :mod:`modhub.catalogue.pictures.decoder` on one image, and checks what it returns.

The image is hostile input for a decoder written in C. So the child gets nothing of the service but the image: no
environment, no open file, no network address; before it reads it gives up to open any, and to reach other processes
(T-A10b); and its time, memory and output are limited.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated, BinaryIO, Final

import msgspec

from modhub.base.optional_calls import report_missed
from modhub.catalogue.pictures.models import PersonalData
from modhub.content import text
from modhub.content.limits import MB

PROGRAM: Final = Path(__file__).with_name("decoder.py")
SECONDS: Final = 20.0
"""How long the child may take, whatever else the machine does."""
BEAT_SECONDS: Final = 1.0
MAX_OUTPUT: Final = 8 * MB
MAX_HEAD: Final = 1000
HEAD: Final = 1024
"""Bytes at the beginning of an image by which its type is known."""
MAX_SIDE: Final = 4096
CONTENT_TYPES: Final = {"webp": "image/webp", "jpg": "image/jpeg"}
"""The encodings of each picture, in the order in which the child returns them."""
PROBLEMS: Final = frozenset({"not_an_image", "damaged", "cut", "too_large", "not_copied"})
SVG: Final = "svg"
"""The problem of an image that browsers show, and Pillow does not know."""
MISSABLE: Final = {
    "landlock": "an image that takes the decoder over may reach other processes of this user",
    "setrlimit": "decoding an image may take as much memory as it likes",
    "nice": "decoding images slows down requests",
    "oom_score_adj": "if memory runs out, the system may end the service instead of the decoder",
}
"""What the system may refuse to the child, and what follows from that."""
CHILD_FAILED: Final = "failed"
"""The child crashed, or exceeded a limit."""
_SIGNATURES: Final = {"webp": (b"RIFF", b"WEBP"), "jpg": (b"\xff\xd8\xff", b"")}


class DecodingFailed(Exception):
    """There are no pictures of this image; ``problem`` is one of `PROBLEMS`, `SVG` or `CHILD_FAILED`.

    ``told``: what its metadata tells all the same.
    """

    def __init__(self, problem: str, told: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.told = told


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """One picture: its width, the extension of its encoding, and its bytes."""

    width: int
    extension: str
    content: bytes


@dataclass(frozen=True, slots=True)
class DerivedPictures:
    """The pictures of an image, the size of the image as shown, what its metadata tells, and an icon's main colour."""

    width: int
    height: int
    sizes: list[tuple[int, int]]
    files: list[DerivedFile]
    told: str = ""
    colour: str | None = None

    @property
    def digest(self) -> str:
        """Identifies these pictures."""
        together = hashlib.sha256(b"".join(hashlib.sha256(file.content).digest() for file in self.files))
        return together.hexdigest()[:16]


class _Head(msgspec.Struct):
    """The first line that the child writes."""

    problem: str | None = None
    size: tuple[int, int] = (0, 0)
    sizes: list[tuple[int, int]] = []
    lengths: list[int] = []
    missed: list[str] = []
    told: list[PersonalData] = []
    colour: Annotated[str, msgspec.Meta(pattern=r"\A#[0-9a-f]{6}\Z")] | None = None


class Decoder:
    """Decodes one image at a time."""

    def __init__(self, program: Path = PROGRAM, seconds: float = SECONDS, *words: str) -> None:
        """``words`` are the arguments of the program."""
        self._command = [sys.executable, "-I", str(program), *words]
        self._seconds = seconds

    def decode(self, source: BinaryIO, beat: Callable[[], object]) -> DerivedPictures:
        """Return the pictures of the image in ``source``; raises `DecodingFailed`.

        ``beat`` is called every second while the child runs, and ends it by raising.
        """
        head, output = self._answer(source, beat)
        try:
            return check_output(output)
        except DecodingFailed as error:
            if error.problem == "not_an_image" and text.sniff_image(head) == "image/svg+xml":
                raise DecodingFailed(SVG) from None
            raise

    def copy(self, source: BinaryIO) -> bytes:
        """Return the image as the program has written it anew, of the same type; raises `DecodingFailed`."""
        first, output = self._answer(source, bool)
        head, content = parse_output(output)
        if head.lengths != [len(content)] or text.sniff_image(content[:HEAD]) != text.sniff_image(first):
            raise DecodingFailed(CHILD_FAILED)
        return content

    def _answer(self, source: BinaryIO, beat: Callable[[], object]) -> tuple[bytes, bytes]:
        """Return (the beginning of the image, what the program writes)."""
        with tempfile.TemporaryFile() as image_file, tempfile.TemporaryFile() as answer_file:
            for chunk in iter(lambda: source.read(MB), b""):
                image_file.write(chunk)
            image_file.seek(0)
            self._run(image_file, answer_file, beat)
            image_file.seek(0)
            answer_file.seek(0)
            return image_file.read(HEAD), answer_file.read(MAX_OUTPUT + 1)

    def _run(self, image_file: BinaryIO, answer_file: BinaryIO, beat: Callable[[], object]) -> None:
        child = subprocess.Popen(  # noqa: S603 - our own program
            self._command, stdin=image_file, stdout=answer_file, stderr=subprocess.DEVNULL, env={}, cwd="/"
        )
        try:
            code = self._wait(child, beat)
        finally:
            child.kill()
            child.wait()
        if code != 0:
            raise DecodingFailed(CHILD_FAILED)

    def _wait(self, child: "subprocess.Popen[bytes]", beat: Callable[[], object]) -> int:
        deadline = monotonic() + self._seconds
        while (left := deadline - monotonic()) > 0:
            with suppress(subprocess.TimeoutExpired):
                return child.wait(min(left, BEAT_SECONDS))
            beat()
        raise DecodingFailed(CHILD_FAILED)


def parse_output(output: bytes) -> tuple[_Head, bytes]:
    """Return (the line of JSON, what follows it); raises `DecodingFailed`, also for a problem that the line names."""
    line, _, content = output.partition(b"\n")
    if len(output) > MAX_OUTPUT or len(line) > MAX_HEAD:
        raise DecodingFailed(CHILD_FAILED)
    try:
        head = msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DecodingFailed(CHILD_FAILED) from None
    for call in sorted(MISSABLE.keys() & set(head.missed)):
        report_missed(f"{call} to the decoder", MISSABLE[call], "reported by the decoder")
    if head.problem is not None:
        raise DecodingFailed(head.problem if head.problem in PROBLEMS else CHILD_FAILED, " ".join(head.told))
    return head, content


def check_output(output: bytes) -> DerivedPictures:
    """Parse the output of the child, which may be under an attacker's control; raises `DecodingFailed`."""
    head, content = parse_output(output)
    widths = [width for width, _ in head.sizes]
    sides = [*head.size, *(side for size in head.sizes for side in size)]
    are_sizes_valid = widths == sorted(set(widths)) and 1 <= len(widths) <= 3 and min(sides) >= 1
    are_bounded = max(side for size in head.sizes for side in size) <= MAX_SIDE if widths else False
    expected = [(width, extension) for width in widths for extension in CONTENT_TYPES]
    are_complete = len(head.lengths) == len(expected) and sum(head.lengths) == len(content)
    if not (are_sizes_valid and are_bounded and are_complete and min(head.lengths) > 0):
        raise DecodingFailed(CHILD_FAILED)
    files, start = [], 0
    for (width, extension), length in zip(expected, head.lengths, strict=True):
        files.append(DerivedFile(width, extension, content[start : start + length]))
        start += length
    if not all(_is_encoded(file) for file in files):
        raise DecodingFailed(CHILD_FAILED)
    return DerivedPictures(*head.size, head.sizes, files, " ".join(head.told), head.colour)


def _is_encoded(file: DerivedFile) -> bool:
    first, later = _SIGNATURES[file.extension]
    return file.content.startswith(first) and file.content[8:12].startswith(later)
