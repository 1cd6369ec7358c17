"""The child program that decodes one image: it is run as a file, by :mod:`modhub.catalogue.pictures.child`.

It reads the image from standard input, and writes a line of JSON and then the derived pictures to standard output; with
the argument ``square`` one picture alone, of 256×256 pixels, with ``icon`` those of a game's icon and its main colour,
with ``copy`` the image without its metadata. It imports nothing of modhub, has no environment of the service, and sets
its own limits before it decodes. The image is hostile input, and may take this program over: so it can then open
nothing, and whatever it writes is checked again by its parent.
"""

import copy
import ctypes
import io
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from PIL import (
    AvifImagePlugin,
    ExifTags,
    Image,
    ImageChops,
    ImageCms,
    ImageFile,
    ImageOps,
    ImageStat,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
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
ICON_SIDES: Final = (64, 128)
"""The longer sides of the copies of a game's icon, for screens of one and of two pixels each."""
ICON_COLOURS: Final = 8
"""So many kinds of colour are told apart to find the main one."""
ENCODINGS: Final[dict[str, dict[str, Any]]] = {
    "webp": {"format": "WEBP", "quality": 76, "method": 3},
    "jpg": {"format": "JPEG", "quality": 78, "optimize": True, "progressive": True},
}
"""By the extension of the file's name."""
JUDGE_SECONDS: Final = 0.05
"""Processor time to read what stands before the pixels, and again to look for personal data."""
EXIF_NAMES: Final = (0x013B, 0x8298, 0x9C9D, 0xC62F, 0xA430, 0xA431, 0xA435)
"""Artist, Copyright, XPAuthor, CameraSerialNumber; CameraOwnerName, BodySerialNumber, LensSerialNumber."""
XMP_LOCATION: Final = frozenset({"GPSLatitude", "GPSLongitude", "City", "Location", "Sublocation"})
XMP_NAMES: Final = frozenset({"creator", "rights", "Artist", "Author", "CameraOwnerName", "OwnerName"}) | {
    f"{of}SerialNumber" for of in ("", "Body", "Lens")
}
MAX_XMP: Final = 1024**2
MAX_XMP_DEPTH: Final = 20
IPTC_LOCATION: Final = re.compile(rb"\x1c\x02[\x1a\x1b\x5a\x5c](?!\0\0)")
IPTC_NAMES: Final = re.compile(rb"\x1c\x02[\x50\x74\x76\x7a](?!\0\0)")
"""By-line, copyright notice, contact, writer."""
PNG_NAMES: Final = frozenset({"author", "artist", "copyright", "creator"})
COLOR_CHUNKS: Final = frozenset({b"cHRM", b"cICP", b"gAMA", b"sRGB"})
KEPT_INFO: Final = frozenset({"transparency", "background"})
"""What a copy needs of what Pillow has read beside the pixels."""
LOSSY_DIFFERENCE: Final = 8.0
"""Of 255: what is encoded anew differs by less than one, noise by up to seven."""
STRIP_LINES: Final = 256
"""Lines that are compared at a time, for the sake of memory."""
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
    return (height, width) if orientation_of(image) >= 5 else (width, height)


def orientation_of(image: Image.Image) -> int:
    """From 1, upright, to 8."""
    orientation = image.getexif().get(ExifTags.Base.Orientation)
    return orientation if isinstance(orientation, int) and 2 <= orientation <= 8 else 1


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


def derive_icon(image: Image.Image) -> list[Image.Image]:
    """The whole image at `ICON_SIDES`, enlarged if it is smaller."""
    return [ImageOps.contain(image, (side, side), Image.Resampling.LANCZOS) for side in ICON_SIDES]


def main_colour(image: Image.Image) -> str:
    """The colour that an image is remembered by, as ``#rrggbb``: a strong one counts for more than a pale one."""
    kinds: Any = _without_alpha(image).quantize(ICON_COLOURS).convert("RGB").getcolors()
    _, main = max(kinds, key=lambda kind: kind[0] * (max(kind[1]) - min(kind[1])))
    return f"#{bytes(main).hex()}"


def _without_alpha(picture: Image.Image) -> Image.Image:
    """On white, where something is transparent."""
    if picture.mode != "RGBA":
        return picture
    background = Image.new("RGB", picture.size, "white")
    background.paste(picture, mask=picture.getchannel("A"))
    return background


def encode_picture(picture: Image.Image, extension: str) -> bytes:
    """The bytes of a file."""
    if extension == "jpg":
        picture = _without_alpha(picture)
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


Derive = Callable[[Image.Image], list[Image.Image]]
HeadAndFiles = tuple[dict[str, Any], list[bytes]]
"""The line of JSON and the files."""
Act = Callable[[Image.Image, bytes], HeadAndFiles]
ToldPair = tuple[Any, Any]
"""Whether it says where the image was taken, and names."""


class OutOfTimeError(BaseException):
    """What Pillow reads before the pixels takes too long; no handler of `Exception` may keep it."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Raise `OutOfTimeError` after `JUDGE_SECONDS` of processor time."""

    def end(*_: object) -> None:
        raise OutOfTimeError

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, JUDGE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def find_personal_data(image: Image.Image, content: bytes) -> list[str]:
    """What the metadata says: ``location``, ``names``. What was found when the time is up holds."""
    told = set[str]()
    with suppress(OutOfTimeError), limited_time():
        for judge in (judge_exif, judge_xmp, judge_iptc, judge_texts):
            with suppress(Exception):
                said = judge(image, content)
                told.update(kind for kind, is_told in zip(("location", "names"), said, strict=True) if is_told)
    return sorted(told)


def is_filled(value: Any) -> bool:
    """Whether a field of EXIF says something."""
    if isinstance(value, bytes | str):
        return bool(str(value, "latin-1").strip("\0 ") if isinstance(value, bytes) else value.strip("\0 "))
    # Phones that may not tell where they are write zeros.
    return any(getattr(part, "numerator", part) for part in value) if isinstance(value, tuple) else bool(value)


def judge_exif(image: Image.Image, _content: bytes) -> ToldPair:
    """Pillow knows EXIF of every format; of PNG also what ImageMagick keeps as text."""
    exif = Image.Image.getexif(image)  # a PNG's own would decode the image
    place, more = exif.get_ifd(ExifTags.IFD.GPSInfo), exif.get_ifd(ExifTags.IFD.Exif)
    are_named = any(is_filled(exif.get(tag)) or is_filled(more.get(tag)) for tag in EXIF_NAMES)
    return any(is_filled(place.get(tag)) for tag in (2, 4)), are_named  # latitude, longitude


def raw_profile(image: Image.Image, name: str) -> bytes:
    """Data of another format that ImageMagick keeps in a text of a PNG: after three lines, as hexadecimal digits."""
    lines = str(image.info.get(f"Raw profile type {name}", "")).split("\n", 3)
    return bytes.fromhex(lines[3]) if len(lines) == 4 else b""


def judge_xmp(image: Image.Image, content: bytes) -> ToldPair:
    """Read by expat, since Pillow returns XMP as it is, and of a GIF only its place."""
    block, place = image.info.get("extension", (b"", 0))
    texts = str(image.info.get("XML:com.adobe.xmp", "")).encode()
    xmp = image.info.get("xmp") or texts or raw_profile(image, "xmp")
    if block == b"XMP DataXMP":
        xmp = content[place:]
    said = properties_of(xmp[:MAX_XMP])
    return said & XMP_LOCATION, said & XMP_NAMES


def properties_of(xmp: bytes) -> set[str]:
    """The names of the properties with a value, without their prefixes, up to where the XML is damaged."""
    opened, said = list[str](), set[str]()

    def start(name: str, attributes: dict[str, str]) -> None:
        opened.append(name.rpartition(":")[2])
        said.update(key.rpartition(":")[2] for key, value in attributes.items() if value.strip())

    def add_text(text: str) -> None:
        if text.strip():
            said.update(opened[-MAX_XMP_DEPTH:])

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.CharacterDataHandler = start, add_text
    parser.EndElementHandler = lambda _name: opened.pop()
    with suppress(expat.ExpatError, OutOfTimeError):
        parser.Parse(xmp, True)
    return said


def judge_iptc(image: Image.Image, _content: bytes) -> ToldPair:
    """Pillow returns the part of a JPEG with the IPTC; its datasets are found by how they begin."""
    datasets = image.info.get("photoshop", {}).get(0x0404) or raw_profile(image, "iptc") or raw_profile(image, "8bim")
    return IPTC_LOCATION.search(datasets), IPTC_NAMES.search(datasets)


def judge_texts(image: Image.Image, _content: bytes) -> ToldPair:
    """Texts of a PNG; nothing else that Pillow returns has these names."""
    return None, any(str(key).lower() in PNG_NAMES and is_filled(value) for key, value in image.info.items())


class NotDecoded(Exception):
    """There is nothing to return; says why, as ``problem`` in the line of JSON."""


def open_image(content: bytes) -> Image.Image:
    """Read what stands before the pixels; raises `NotDecoded`."""
    try:
        with limited_time():
            return Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:
        raise NotDecoded("not_an_image") from None
    except OutOfTimeError:
        raise NotDecoded("failed") from None
    except (MemoryError, Image.DecompressionBombError):
        raise NotDecoded("too_large") from None
    except Exception:  # noqa: BLE001 - Pillow's decoders raise almost anything for a broken file
        raise NotDecoded("damaged") from None


def decode_image(image: Image.Image, content: bytes, derived: Derive = derive) -> HeadAndFiles:
    """The line of JSON and the files; raises `NotDecoded`."""
    try:
        size = oriented_size(image)
        pictures = derived(read_image(image))
        files = [encode_picture(picture, extension) for picture in pictures for extension in ENCODINGS]
    except (MemoryError, Image.DecompressionBombError):
        raise NotDecoded("too_large") from None
    except Exception:  # noqa: BLE001 - as above
        raise NotDecoded("cut" if shows_a_part(content) else "damaged") from None
    sizes = [picture.size for picture in pictures]
    return {"size": list(size), "sizes": sizes, "lengths": [len(file) for file in files]}, files


def decode_icon(image: Image.Image, content: bytes) -> HeadAndFiles:
    """As `decode_image`, and the main colour."""
    head, files = decode_image(image, content, derive_icon)
    with Image.open(io.BytesIO(files[0]), formats=["WEBP"]) as small:
        return head | {"colour": main_colour(small)}, files


def shows_a_part(content: bytes) -> bool:
    """Whether it is a JPEG that browsers show as far as it goes: not all of what can be decoded is one colour."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
            image.draft("L", (64, 64))
            return len(set(image.convert("L").getextrema())) > 1
    except Exception:  # noqa: BLE001 - as above
        return False
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


def copy_image(image: Image.Image, content: bytes) -> HeadAndFiles:
    """The line of JSON, and the image without its metadata; raises `NotDecoded` where the copy would look different."""
    kind = "JPEG" if image.format == "MPO" else image.format or ""
    is_animated = getattr(image, "is_animated", False) and image.format != "MPO"  # of which one image is shown
    try:
        image.load()
        options, difference = copy_options(image, kind, content)
        options["icc_profile"], orientation = image.info.get("icc_profile"), orientation_of(image)
        if orientation > 1:
            options["exif"] = Image.Exif()
            options["exif"][ExifTags.Base.Orientation] = orientation
        image.info = {key: value for key, value in image.info.items() if key in KEPT_INFO}
        file = _save_picture(image, {"format": kind, **options})
        with Image.open(io.BytesIO(file), formats=[kind]) as made:
            is_same = (orientation, options["icc_profile"]) == (orientation_of(made), made.info.get("icc_profile"))
            if is_animated or not is_same or not is_like(image, made, difference):
                raise NotDecoded("not_copied")
    except MemoryError:
        raise NotDecoded("too_large") from None
    except Exception:  # noqa: BLE001 - as above
        raise NotDecoded("not_copied") from None
    return {"size": image.size, "lengths": [len(file)]}, [file]


def copy_options(image: Image.Image, kind: str, content: bytes) -> tuple[dict[str, Any], float]:
    """How an image is saved as it was, and how much a channel may then differ on average; `KeyError` for the others."""
    if kind == "JPEG":
        sampling: Any = JpegImagePlugin.get_sampling(image)
        is_progressive = bool({"progressive", "progression"} & image.info.keys())
        # What ``quality="keep"`` means, which is refused for an MPO and guesses a sampling that it does not know.
        tables = {"qtables": image.quantization, "subsampling": max(sampling, 0)}  # type: ignore[attr-defined]
        return {**tables, "optimize": True, "progressive": is_progressive}, LOSSY_DIFFERENCE
    if kind == "PNG" and content[24] < 16:  # bits; Pillow keeps eight
        return {"pnginfo": color_chunks(content)}, 0
    if kind == "WEBP" and b"VP8L" not in content:
        return {"quality": 95, "method": 4}, LOSSY_DIFFERENCE
    return {"WEBP": {"lossless": True, "exact": True}, "GIF": {}}[kind], 0


def color_chunks(png: bytes) -> PngImagePlugin.PngInfo:
    """What Pillow does not write by itself of what the colours of a PNG depend on."""
    kept, place = PngImagePlugin.PngInfo(), 8
    while (name := png[place + 4 : place + 8]) not in {b"IDAT", b""}:
        length = int.from_bytes(png[place : place + 4], "big")
        if name in COLOR_CHUNKS:
            kept.add(name, png[place + 8 : place + 8 + length])
        place += 12 + length
    return kept


def is_like(image: Image.Image, copied: Image.Image, most: float) -> bool:
    """Whether no strip of the copy differs by more than ``most`` in a channel, on average."""
    if image.size != copied.size or image.has_transparency_data != copied.has_transparency_data:
        return False
    mode = "RGBA" if image.has_transparency_data else "RGB"
    for top in range(0, image.height, STRIP_LINES):
        box = (0, top, image.width, min(top + STRIP_LINES, image.height))
        difference = ImageChops.difference(*(picture.crop(box).convert(mode) for picture in (image, copied)))
        if max(ImageStat.Stat(difference).mean) > most:
            return False
    return True


def answer(source: Any, act: Act = decode_image) -> HeadAndFiles:
    """What ``act`` returns for an image, and what its metadata says; ``problem`` where there is nothing to return."""
    content, told = source.read(), list[str]()
    try:
        with open_image(content) as image:
            try:
                if image.width * image.height > MAX_PIXELS:
                    raise NotDecoded("too_large")
                head, files = act(image, content)
            finally:
                told = find_personal_data(image, content)
    except NotDecoded as refusal:
        head, files = {"problem": str(refusal)}, []
    return head | ({"told": told} if told else {}), files


def main() -> None:
    """Decode standard input."""
    missed = set_limits()
    acts: dict[str, Act]
    acts = {"copy": copy_image, "icon": decode_icon, "square": partial(decode_image, derived=derive_square)}
    head, files = answer(sys.stdin.buffer, acts.get(sys.argv[-1], decode_image))
    sys.stdout.buffer.write(json.dumps(head | {"missed": missed}).encode("ascii") + b"\n" + b"".join(files))


if __name__ == "__main__":
    main()
