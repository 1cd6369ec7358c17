"""Pictures for the samples, drawn by a few lines of our own: a tiny PNG writer, and icons as SVG."""

import struct
import zlib
from collections.abc import Sequence
from typing import Final

Colour = tuple[int, int, int]
WIDTH: Final = 640
HEIGHT: Final = 360


class Canvas:
    """An RGB picture that rectangles are painted on."""

    def __init__(self, width: int, height: int, back: Colour) -> None:
        self.width = width
        self.rows = [bytearray(bytes(back) * width) for _ in range(height)]

    def fill(self, left: int, top: int, width: int, height: int, colour: Colour) -> None:
        """Paint a rectangle; what lies outside is left out."""
        left, right = max(left, 0), min(left + width, self.width)
        for row in self.rows[max(top, 0) : max(top + height, 0)]:
            row[left * 3 : right * 3] = bytes(colour) * max(right - left, 0)

    def png(self) -> bytes:
        """The picture as a PNG file (ISO/IEC 15948)."""
        size = struct.pack(">IIBBBBB", self.width, len(self.rows), 8, 2, 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + row for row in self.rows), 9)
        chunks = ((b"IHDR", size), (b"IDAT", data), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def overlay(sky: Colour, ground: Colour, accent: Colour, panels: Sequence[tuple[int, int, int, int]]) -> bytes:
    """A landscape with a captured game's overlay on it; ``panels`` are (left, top, width, height)."""
    canvas = Canvas(WIDTH, HEIGHT, sky)
    for band in range(9):
        shade = tuple((sky[at] * (9 - band) + ground[at] * band) // 9 for at in range(3))
        canvas.fill(0, HEIGHT * band // 12, WIDTH, HEIGHT, (shade[0], shade[1], shade[2]))
    for at in range(16):
        height = 30 + (at * 53 + sky[0]) % 90
        canvas.fill(at * 42 - 6, HEIGHT - 60 - height, 34, height + 20, tuple(c * 3 // 4 for c in ground))  # type: ignore[arg-type]
    canvas.fill(0, HEIGHT - 60, WIDTH, 60, ground)
    for left, top, width, height in panels:
        canvas.fill(left, top, width, height, (18, 24, 28))
        canvas.fill(left, top, 5, height, accent)
        for line in range(max(1, (height - 12) // 18)):
            length = (width - 30) * (9 - (line * 4 + left) % 6) // 9
            canvas.fill(left + 16, top + 10 + line * 18, length, 8, (214, 222, 218) if line else accent)
    return canvas.png()


def icon(back: str, front: str, path: str) -> bytes:
    """A square icon; ``path`` is drawn in a box of 24."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" fill="{back}"/>'
        f'<path fill="{front}" d="{path}"/></svg>'
    ).encode()
