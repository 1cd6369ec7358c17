"""What an image says about its author beside what it shows, and a copy that does not.

EXIF, XMP and IPTC are read by rules of our own, which look at a few fields and take bounded work: Pillow reads every
field of a hostile file into memory. ICC profiles are no metadata here: colours depend on them.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from modhub.catalogue.pictures.containers import BrokenImage, Part, exif_part, image_format, join_parts, walk_parts

MAX_EXIF_FIELDS: Final = 512
"""Fields of an EXIF directory that are looked at."""
MAX_VALUE: Final = 256
"""Bytes of a field that are looked at."""

_BYTE_ORDERS: Final = {b"II*\0": "<", b"MM\0*": ">"}
_FIELD_SIZES: Final = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 10: 8, 129: 1}
_RATIONALS: Final = frozenset({5, 10})
_ORIENTATION: Final = 0x0112
_EXIF_FIELDS: Final = 0x8769
_GPS_FIELDS: Final = 0x8825
_LATITUDE_LONGITUDE: Final = (0x02, 0x04)
_EXIF_NAMES: Final = (0x013B, 0x8298, 0x9C9D, 0xC62F, 0xA430, 0xA431, 0xA435)
"""Artist, Copyright, XPAuthor, CameraSerialNumber; CameraOwnerName, BodySerialNumber, LensSerialNumber."""
_PNG_NAMES: Final = frozenset({b"author", b"artist", b"copyright", b"creator"})
_RAW_PROFILE: Final = b"raw profile type "
"""The keyword under which ImageMagick keeps data of other formats in a PNG, as hexadecimal digits."""


def _xmp_fields(names: str) -> re.Pattern[bytes]:
    """Match one of these properties with a value, as attribute or as element; all repetitions are bounded (T-A8)."""
    name = r"(?:\w{1,40}:)?(?:" + names + r")"
    attribute = rf"\s{name}\s{{0,9}}=\s{{0,9}}[\"']\s{{0,9}}[^\"'\s]"
    opening = r"[^<>]{0,400}(?<!/)>"
    element = rf"<{name}(?:\s{opening}|>)(?:\s{{0,99}}<[^<>/]{opening}){{0,4}}\s{{0,99}}[^<\s]"
    return re.compile(f"{attribute}|{element}".encode())


_XMP_LOCATION: Final = _xmp_fields("GPSLatitude|GPSLongitude|City|Location|Sublocation")
_XMP_NAMES: Final = _xmp_fields(
    "creator|rights|Artist|Author|CameraOwnerName|OwnerName|SerialNumber|BodySerialNumber|LensSerialNumber"
)
_IPTC_RESOURCE: Final = b"8BIM\x04\x04"
_IPTC_LOCATION: Final = re.compile(rb"\x1c\x02[\x1a\x1b\x5a\x5c](?!\0\0)")
_IPTC_NAMES: Final = re.compile(rb"\x1c\x02[\x50\x74\x76\x7a](?!\0\0)")
"""By-line, copyright notice, contact, writer."""


class PersonalData(StrEnum):
    """What an image tells beside what it shows."""

    LOCATION = "location"
    NAMES = "names"
    """A name, a copyright notice, or the serial number of a device."""


def find_personal_data(content: bytes) -> list[PersonalData]:
    """Return what the metadata of a JPEG, PNG, WebP or GIF tells; nothing for other files. Never raises."""
    told = set[PersonalData]()
    xmp = bytearray()
    try:
        for part in walk_parts(content):
            if part.kind == "xmp":
                xmp += part.payload
            told.update(_judge(part.kind, part.payload))
    except BrokenImage:
        pass  # what was found before holds
    told.update(_judge_xmp(bytes(xmp)))
    return [data for data in PersonalData if data in told]


def strip_metadata(content: bytes) -> bytes:
    """Return the image without its metadata: the same pixels and colours, and as upright as before.

    :class:`BrokenImage` for other files, and for one that is damaged.
    """
    image = image_format(content)
    kept = list[bytes]()
    has_exif = False
    for part in walk_parts(content):
        if not part.kind:
            kept.append(part.raw)
        elif part.kind == "exif" and not has_exif:
            has_exif = True
            kept.extend(_keep_orientation(image, part))
    return join_parts(image, kept)


def _keep_orientation(image: str, exif: Part) -> Iterator[bytes]:
    order, fields = _read_exif(exif.payload)
    value = _value(exif.payload, fields.get(_ORIENTATION))
    orientation = struct.unpack(f"{order}H", value)[0] if len(value) == 2 else 1
    if 2 <= orientation <= 8:
        directory = struct.pack(">HHHLHHL", 1, _ORIENTATION, 3, 1, orientation, 0, 0)
        yield exif_part(image, b"MM\0*\0\0\0\x08" + directory)


def _judge(kind: str, payload: bytes) -> Iterable[PersonalData]:
    match kind:
        case "exif":
            return _judge_exif(payload)
        case "iptc":
            return _judge_iptc(payload)
        case "text":
            return _judge_text(payload)
    return ()


_Field = tuple[int, int, int]
"""Type, number of values, and the place of the value."""


def _read_exif(tiff: bytes) -> tuple[str, dict[int, _Field]]:
    """Return (byte order, fields of the first directory)."""
    order = _BYTE_ORDERS.get(tiff[:4], "")
    if not order or len(tiff) < 8:
        return ">", {}
    return order, _read_fields(tiff, order, struct.unpack_from(f"{order}L", tiff, 4)[0])


def _read_fields(tiff: bytes, order: str, place: int) -> dict[int, _Field]:
    if place + 2 > len(tiff):
        return {}
    count = min(struct.unpack_from(f"{order}H", tiff, place)[0], MAX_EXIF_FIELDS, (len(tiff) - place - 2) // 12)
    fields = dict[int, _Field]()
    for start in range(place + 2, place + 2 + 12 * count, 12):
        tag, form, values, offset = struct.unpack_from(f"{order}HHLL", tiff, start)
        is_inline = _FIELD_SIZES.get(form, 8) * values <= 4
        fields[tag] = form, values, start + 8 if is_inline else offset
    return fields


def _value(tiff: bytes, field: _Field | None) -> bytes:
    form, values, place = field or (1, 0, 0)
    return tiff[place : place + min(_FIELD_SIZES.get(form, 0) * values, MAX_VALUE)]


def _subdirectory(tiff: bytes, order: str, field: _Field | None) -> dict[int, _Field]:
    pointer = _value(tiff, field)
    return _read_fields(tiff, order, struct.unpack(f"{order}L", pointer)[0]) if len(pointer) == 4 else {}


def _judge_exif(tiff: bytes) -> Iterator[PersonalData]:
    order, fields = _read_exif(tiff)
    gps = _subdirectory(tiff, order, fields.get(_GPS_FIELDS))
    # Phones that may not tell where they are write zeros.
    places = [_value(tiff, gps[tag]) for tag in _LATITUDE_LONGITUDE if tag in gps and gps[tag][0] in _RATIONALS]
    if any(any(value[start : start + 4].strip(b"\0") for start in range(0, len(value), 8)) for value in places):
        yield PersonalData.LOCATION
    fields |= _subdirectory(tiff, order, fields.get(_EXIF_FIELDS))
    if any(_value(tiff, fields.get(tag)).strip(b"\0 ") for tag in _EXIF_NAMES):
        yield PersonalData.NAMES


def _judge_xmp(xmp: bytes) -> Iterator[PersonalData]:
    if _XMP_LOCATION.search(xmp):
        yield PersonalData.LOCATION
    if _XMP_NAMES.search(xmp):
        yield PersonalData.NAMES


def _judge_iptc(resources: bytes) -> Iterator[PersonalData]:
    place = resources.find(_IPTC_RESOURCE)
    if place < 0 or place + 12 > len(resources):
        return
    place += len(_IPTC_RESOURCE)
    place += (resources[place] + 2) & ~1  # its name, of an even length with the byte that counts it
    size = int.from_bytes(resources[place : place + 4], "big")
    datasets = resources[place + 4 : place + 4 + size]
    if _IPTC_LOCATION.search(datasets):
        yield PersonalData.LOCATION
    if _IPTC_NAMES.search(datasets):
        yield PersonalData.NAMES


def _judge_text(text: bytes) -> Iterable[PersonalData]:
    keyword, _, value = text.partition(b"\0")
    keyword = keyword.lower()
    if keyword in _PNG_NAMES and value.strip():
        return (PersonalData.NAMES,)
    if not keyword.startswith(_RAW_PROFILE):
        return ()
    try:
        # A line break, the name of the profile, its length, then the digits.
        profile = bytes.fromhex(value.split(b"\n", 3)[3].decode("ascii"))
    except (ValueError, IndexError):
        return ()
    if profile.startswith(b"Exif\0\0"):
        return _judge_exif(profile[6:])
    return (*_judge_iptc(profile), *_judge_xmp(profile))
