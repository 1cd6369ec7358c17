"""The child program that decodes one image: it is run as a file, by :mod:`modhub.catalogue.pictures.child`.

It reads the image from standard input, and writes a line of JSON and then the derived pictures to standard output; with
the argument ``square`` one picture alone, of 256×256 pixels. It imports nothing of modhub, has no environment of the
service, and sets its own limits before it decodes. The image is hostile input, and may take this program over: so it
can then open nothing, and whatever it writes is checked again by its parent.
"""

import copy
import ctypes
import io
import json
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from PIL import (
    AvifImagePlugin,
    ExifTags,
    Image,
    ImageCms,
    ImageOps,
    MpoImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

LATER: Final = (AvifImagePlugin, MpoImagePlugin, TiffImagePlugin, WebPImagePlugin, copy)
"""Pillow would import these while it decodes, when nothing can be opened: TIFF reads EXIF, MPO is a kind of JPEG."""
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")
"""What browsers display. Pillow's other decoders are never tried."""
MAX_PIXELS: Final = 40_000_000
ADDRESS_SPACE: Final = 768 * 1024**2
"""Bytes of address space."""
CPU_SECONDS: Final = 15
OUTPUT: Final = 8 * 1024**2
"""Bytes of all derived pictures."""
COVERS: Final = ((320, 180), (640, 360))
"""The sizes that are cropped to 16:9, as cards show them."""
WIDE: Final = 1280
"""The width of the picture that is not cropped."""
TALLEST: Final = 4096
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_RESTRICT_SELF: Final = 446
"""Numbers of system calls, the same on every architecture; libc has no functions for them."""
PR_SET_NO_NEW_PRIVS: Final = 38
SQUARE: Final = (256, 256)
"""The size of the picture of a person."""
ENCODINGS: Final[dict[str, dict[str, Any]]] = {
    "webp": {"format": "WEBP", "quality": 76, "method": 3},
    "jpg": {"format": "JPEG", "quality": 78, "optimize": True, "progressive": True},
}
"""By the extension of the file's name."""
LOWEST_QUALITY: Final = 40
BITS_PER_PIXEL: Final = 1.5
"""A picture with more is stored at a lower quality, so that twenty cards weigh less than a megabyte, noise or not."""


def set_limits() -> list[str]:
    """Limit what this program can reach and take, and return what the system refuses; the rest holds all the same."""
    Image.preinit()
    missed = list[str]()
    try:
        os.nice(5)
    except OSError:
        missed.append("nice")
    try:
        # If memory runs out, the system ends this program before any other.
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    except OSError:
        missed.append("oom_score_adj")
    if not lock_away():
        missed.append("landlock")
    limits = (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, OUTPUT),
        # No file, no socket: only what is open is read and written.
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, limit in limits:
        try:
            hard = resource.getrlimit(kind)[1]
            lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (lowest, lowest))
        except (ValueError, OSError):
            missed.append("setrlimit")
    return missed


def lock_away() -> bool:
    """Whether the kernel (Landlock) now keeps files, other processes, and by its version TCP and signals from us."""
    system = ctypes.CDLL(None)
    version = system.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    # Everything that the version knows is handled, and no rule allows any of it.
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    handled = (ctypes.c_uint64 * 3)(files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    rules = system.syscall(LANDLOCK_CREATE_RULESET, handled, ctypes.sizeof(handled), 0)
    if rules < 0 or system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    restricted: int = system.syscall(LANDLOCK_RESTRICT_SELF, rules, 0)
    return restricted == 0


def target_scale(width: int, height: int) -> float:
    """How much of the image's size the largest derived picture needs; never more than all of it."""
    cover_width, cover_height = COVERS[-1]
    return min(1.0, max(WIDE / width, cover_width / width, cover_height / height))


def to_scalable(image: Image.Image) -> Image.Image:
    """In a mode that can be scaled and that profiles know, with an alpha channel only if something is transparent."""
    if image.mode.startswith(("I", "F")):
        # 16 bits of grey: a plain conversion would cut them off at 255.
        image = image.point(lambda value: value * (1 / 256)).convert("L")
    if image.has_transparency_data:
        return image.convert("LA" if image.mode in {"1", "L", "LA"} else "RGBA")
    return image if image.mode in {"RGB", "CMYK", "L"} else image.convert("RGB")


def to_srgb(image: Image.Image) -> Image.Image:
    """By the image's profile, if it has one that fits."""
    image = to_scalable(image)
    converted = image.convert("RGBA" if image.mode in {"LA", "RGBA"} else "RGB")
    if profile := image.info.get("icc_profile"):
        with suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            # Profiles say nothing of transparency.
            colours = image.convert(image.mode.removesuffix("A"))
            in_srgb = ImageCms.profileToProfile(colours, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            if in_srgb is not None:
                if converted.mode == "RGBA":
                    in_srgb.putalpha(converted.getchannel("A"))
                return in_srgb
    return converted


def oriented_size(image: Image.Image) -> tuple[int, int]:
    """Width and height as shown: a camera's image may be stored on its side."""
    width, height = image.size
    is_sideways = image.getexif().get(ExifTags.Base.Orientation, 1) in {5, 6, 7, 8}
    return (height, width) if is_sideways else (width, height)


def read_image(image: Image.Image) -> Image.Image:
    """Decode the first frame, upright and in RGB, not much larger than the derived pictures."""
    scale = target_scale(*oriented_size(image))
    target_size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    # JPEG can be decoded at an eighth, a quarter or half of its size.
    image.draft(None, target_size)
    image.load()
    small: Image.Image = image
    if image.mode in {"P", "PA", "1", "I;16"} or "transparency" in image.info:
        # A palette cannot be scaled smoothly, nor one colour that stands for transparency; 16 bits not in two steps.
        small = to_scalable(image)
    if target_size != small.size:
        small = small.resize(target_size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    # After scaling, since both cost time for each pixel.
    upright = ImageOps.exif_transpose(small)
    small = to_srgb(upright)
    small.info = {}
    return small


def cover(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The middle of the image in the shape of ``size``, never enlarged."""
    width, height = size
    scale = min(1.0, image.width / width, image.height / height)
    fitted = (max(1, round(width * scale)), max(1, round(height * scale)))
    return ImageOps.fit(image, fitted, Image.Resampling.LANCZOS)


def derive(image: Image.Image) -> list[Image.Image]:
    """The derived pictures, smallest first. A small image has fewer of them."""
    derived: list[Image.Image] = []
    whole = image.copy()
    whole.thumbnail((WIDE, TALLEST), Image.Resampling.LANCZOS)
    for picture in (*(cover(image, size) for size in COVERS), whole):
        if not derived or picture.width > derived[-1].width:
            derived.append(picture)
    return derived


def derive_square(image: Image.Image) -> list[Image.Image]:
    """The middle of the image, enlarged if it is smaller."""
    return [ImageOps.fit(image, SQUARE, Image.Resampling.LANCZOS)]


def encode_picture(picture: Image.Image, extension: str) -> bytes:
    """The bytes of a file."""
    if extension == "jpg" and picture.mode == "RGBA":
        background = Image.new("RGB", picture.size, "white")
        background.paste(picture, mask=picture.getchannel("A"))
        picture = background
    encoding = ENCODINGS[extension]
    file = _save_picture(picture, encoding)
    excess = 8 * len(file) / (picture.width * picture.height) / BITS_PER_PIXEL
    if excess > 1:
        file = _save_picture(picture, encoding | {"quality": max(LOWEST_QUALITY, round(encoding["quality"] / excess))})
    return file


def _save_picture(picture: Image.Image, encoding: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    picture.save(file, **encoding)
    return file.getvalue()


def decode_stream(
    source: Any, derived: Callable[[Image.Image], list[Image.Image]] = derive
) -> tuple[dict[str, Any], list[bytes]]:
    """The line of JSON and the files; ``problem`` if there are none."""
    try:
        with Image.open(source, formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                return {"problem": "too_large"}, []
            width, height = oriented_size(image)
            pictures = derived(read_image(image))
            files = [encode_picture(picture, extension) for picture in pictures for extension in ENCODINGS]
    except UnidentifiedImageError:
        return {"problem": "not_an_image"}, []
    except (MemoryError, Image.DecompressionBombError):
        return {"problem": "too_large"}, []
    except Exception:  # noqa: BLE001 - Pillow's decoders raise almost anything for a broken file
        return {"problem": "damaged"}, []
    sizes = [picture.size for picture in pictures]
    return {"size": [width, height], "sizes": sizes, "lengths": [len(file) for file in files]}, files


def main() -> None:
    """Decode standard input."""
    missed = set_limits()
    head, files = decode_stream(sys.stdin.buffer, derive_square if "square" in sys.argv[1:] else derive)
    sys.stdout.buffer.write(json.dumps(head | {"missed": missed}).encode("ascii") + b"\n" + b"".join(files))


if __name__ == "__main__":
    main()
