"""The parts of image files: what browsers show, and what cameras and programs have written beside it.

Nothing is decoded: the files are walked from part to part, so the pixels of what is kept are the same bit for bit. A
hostile file costs at most `MAX_PARTS` steps. SVG, BMP and AVIF are not known here.
"""

import re
import struct
from binascii import crc32
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

MAX_PARTS: Final = 50_000
"""Parts of a file, and blocks of a GIF; an image of 2 MB has about 8,000."""

_JPEG: Final = b"\xff\xd8\xff"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_GIF: Final = (b"GIF87a", b"GIF89a")
_END_OF_SCAN: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_EXIF: Final = b"Exif\0\0"
_XMP: Final = (b"http://ns.adobe.com/xap/1.0/\0", b"http://ns.adobe.com/xmp/extension/\0")
_PHOTOSHOP: Final = b"Photoshop 3.0\0"
_PNG_SHOWN: Final = frozenset(
    b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT".split()
)
_WEBP_SHOWN: Final = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"))
_WEBP_FLAGS: Final = 0x0C
"""VP8X: there are EXIF (8) and XMP (4)."""
_GIF_SHOWN: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")


class BrokenImage(ValueError):
    """The file is no image of a known format, or damaged."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: its bytes, and what they say. A part of the image itself says nothing."""

    raw: bytes
    kind: str = ""
    """Empty for the image; ``exif``, ``xmp``, ``iptc``, ``text`` (keyword, NUL, value) or ``other``."""
    payload: bytes = b""


def image_format(content: bytes) -> str:
    """Return ``jpeg``, ``png``, ``webp`` or ``gif``; empty for every other file."""
    if content.startswith(_JPEG):
        return "jpeg"
    if content.startswith(_PNG):
        return "png"
    if content.startswith(_GIF):
        return "gif"
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


def walk_parts(content: bytes) -> Iterator[Part]:
    """Yield the parts of an image; what follows its end is left out. :class:`BrokenImage` where it cannot go on."""
    walkers: dict[str, Callable[[bytes], Iterator[Part]]] = {
        "jpeg": _walk_jpeg,
        "png": _walk_png,
        "webp": _walk_webp,
        "gif": _walk_gif,
    }
    walker = walkers.get(image_format(content))
    if walker is None:
        raise BrokenImage
    try:
        for step, part in enumerate(walker(content)):
            if step >= MAX_PARTS:
                raise BrokenImage
            yield part
    except (IndexError, struct.error):
        raise BrokenImage from None


def exif_part(image: str, tiff: bytes) -> bytes:
    """Return the part of a file of this format that holds the EXIF data ``tiff``."""
    if image == "jpeg":
        return b"\xff\xe1" + struct.pack(">H", 2 + len(_EXIF) + len(tiff)) + _EXIF + tiff
    if image == "png":
        return _png_chunk(b"eXIf", tiff)
    return b"EXIF" + struct.pack("<L", len(tiff)) + tiff + b"\0" * (len(tiff) % 2) if image == "webp" else b""


def join_parts(image: str, parts: list[bytes]) -> bytes:
    """Return the file of these parts."""
    content = b"".join(parts)
    if image != "webp":
        return content
    chunks = content[12:]
    if chunks.startswith(b"VP8X"):
        flags = chunks[8] & ~_WEBP_FLAGS | (8 if any(part.startswith(b"EXIF") for part in parts) else 0)
        chunks = chunks[:8] + bytes((flags,)) + chunks[9:]
    return b"RIFF" + struct.pack("<L", 4 + len(chunks)) + b"WEBP" + chunks


def _take(content: bytes, start: int, stop: int) -> bytes:
    if stop > len(content):
        raise BrokenImage
    return content[start:stop]


def _walk_jpeg(content: bytes) -> Iterator[Part]:
    yield Part(content[:2])
    place = 2
    while True:
        if content[place] != 0xFF:
            raise BrokenImage
        code = content[place + 1]
        if code == 0xFF:
            place += 1
            continue
        if code == 0xD9:
            yield Part(content[place : place + 2])
            return
        stop = place + 2 + struct.unpack_from(">H", content, place + 2)[0]
        body = _take(content, place + 4, stop)
        if code == 0xDA:
            marker = _END_OF_SCAN.search(content, stop)
            if marker is None:
                # Cut off: browsers show what is there.
                yield Part(content[place:])
                return
            stop = marker.start()
        yield _jpeg_part(code, content[place:stop], body)
        place = stop


def _jpeg_part(code: int, raw: bytes, body: bytes) -> Part:
    if code == 0xE1 and body.startswith(_EXIF):
        return Part(raw, "exif", body[len(_EXIF) :])
    if code == 0xE1 and body.startswith(_XMP):
        return Part(raw, "xmp", body)
    if code == 0xED and body.startswith(_PHOTOSHOP):
        return Part(raw, "iptc", body[len(_PHOTOSHOP) :])
    if code == 0xE0 and body.startswith(b"JFIF\0") and len(body) >= 14:
        # Without its thumbnail, which may show what was cut off from the image.
        return Part(b"\xff\xe0\0\x10" + body[:12] + b"\0\0")
    is_shown = (code == 0xE2 and body.startswith(b"ICC_PROFILE\0")) or (code == 0xEE and body.startswith(b"Adobe"))
    return Part(raw, "" if is_shown or not (0xE0 <= code <= 0xEF or code == 0xFE) else "other")


def _png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">L", len(body)) + name + body + struct.pack(">L", crc32(name + body))


def _walk_png(content: bytes) -> Iterator[Part]:
    yield Part(content[:8])
    place = 8
    while True:
        length, name = struct.unpack_from(">L4s", content, place)
        stop = place + 12 + length
        raw, body = _take(content, place, stop), content[place + 8 : stop - 4]
        place = stop
        if name == b"eXIf":
            yield Part(raw, "exif", body)
        elif name in {b"tEXt", b"zTXt", b"iTXt"}:
            text = _png_text(name, body)
            yield Part(raw, "xmp" if text.startswith(b"XML:com.adobe.xmp\0") else "text", text)
        else:
            yield Part(raw, "" if name in _PNG_SHOWN else "other")
        if name == b"IEND":
            return


def _png_text(name: bytes, body: bytes) -> bytes:
    """Return keyword, NUL and value; without the value if it is compressed: nothing is decompressed here (T-A8)."""
    keyword, _, value = body.partition(b"\0")
    if name == b"iTXt":
        value = value[2:].partition(b"\0")[2].partition(b"\0")[2] if value[:1] == b"\0" else b""
    return keyword + b"\0" + (b"" if name == b"zTXt" else value)


def _walk_webp(content: bytes) -> Iterator[Part]:
    yield Part(content[:12])
    place, end = 12, min(8 + struct.unpack_from("<L", content, 4)[0], len(content))
    while place + 8 <= end:
        name, length = struct.unpack_from("<4sL", content, place)
        body = _take(content, place + 8, place + 8 + length)
        raw = content[place : place + 8 + length].ljust(8 + length + length % 2, b"\0")
        place += 8 + length + length % 2
        if name == b"EXIF":
            yield Part(raw, "exif", body.removeprefix(_EXIF))
        elif name == b"XMP ":
            yield Part(raw, "xmp", body)
        else:
            yield Part(raw, "" if name in _WEBP_SHOWN else "other")


def _color_table(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _walk_gif(content: bytes) -> Iterator[Part]:
    place = 13 + _color_table(content[10])
    yield Part(_take(content, 0, place))
    room = MAX_PARTS
    while content[place] != 0x3B:
        start, kind = place, ""
        if content[place] == 0x2C:
            place += 11 + _color_table(content[place + 9])
        elif content[place] == 0x21:
            label, place = content[place + 1], place + 2
            name = content[place + 1 : place + 12]
            if label == 0xFF and name == b"XMP DataXMP":
                kind = "xmp"
            elif label == 0xFE or (label == 0xFF and name not in _GIF_SHOWN):
                kind = "other"
        else:
            raise BrokenImage
        while content[place] and room:
            place, room = place + 1 + content[place], room - 1
        place += 1
        raw = _take(content, start, place)
        yield Part(raw, kind, raw if kind == "xmp" else b"")
        if not room:
            raise BrokenImage
    yield Part(b";")
