"""GUIDs and file names from a service, before they become part of a path."""

import re
import unicodedata
from typing import Final

MAX_NAME_BYTES: Final = 200
_GUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
# Control and format characters (marks of the writing direction among them), lone surrogates, line separators.
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_ON_WINDOWS: Final = re.compile(r'[<>:"|?*]')
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)


def parse_guid(text: str) -> str | None:
    """The GUID in lower case, None if ``text`` is not one."""
    lowered = text.strip().lower()
    return lowered if _GUID.fullmatch(lowered) else None


def is_sha256(text: str) -> bool:
    """Whether ``text`` is a SHA-256 as the service writes it."""
    return _SHA256.fullmatch(text) is not None


def is_single_segment(name: str) -> bool:
    """Whether ``name`` is one part of a path. The service never sends another one, so such an answer is refused."""
    return name not in {"", ".", ".."} and not {"/", "\\", "\0"} & set(name)


def clean_name(name: str) -> str:
    """A name that is safe as a file on every system and looks as much as possible like ``name``."""
    composed = unicodedata.normalize("NFC", name)
    visible = "".join(char for char in composed if unicodedata.category(char) not in _DROPPED)
    cleaned = _NOT_ON_WINDOWS.sub("_", re.split(r"[/\\]", visible)[-1]).strip().rstrip(". ")
    if cleaned.startswith("."):
        cleaned = "_" + cleaned[1:]
    if _DEVICE.fullmatch(cleaned):
        cleaned = "_" + cleaned
    return _shorten(cleaned) or "file"


def _shorten(name: str) -> str:
    """At most ``MAX_NAME_BYTES`` in UTF-8, with the ending kept."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    suffix = (dot + ending).encode() if stem and len(ending.encode()) <= 20 else b""
    start = name.encode()[: MAX_NAME_BYTES - len(suffix)]
    return (start.decode(errors="ignore") + suffix.decode()).strip()
