"""File names that every system takes: for members of the archives that we make.

The rule is that of ``clients/modhub_client/names.py`` (``clean_name``), so that a mod has the same name in an
archive and in a folder of modhub-get. It is written twice because that client is a distribution without dependencies,
and runs where there is no modhub; ``tests/clients/test_names_of_both.py`` compares the two.
"""

import re
import unicodedata
from typing import Final

MOST_BYTES: Final = 200
# Control and format characters (marks of the writing direction among them), lone surrogates, line separators.
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_ON_WINDOWS: Final = re.compile(r'[<>:"|?*]')
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)


def portable_name(name: str) -> str:
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
    """At most ``MOST_BYTES`` in UTF-8, with the ending kept."""
    if len(name.encode()) <= MOST_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    suffix = (dot + ending).encode() if stem and len(ending.encode()) <= 20 else b""
    start = name.encode()[: MOST_BYTES - len(suffix)]
    return (start.decode(errors="ignore") + suffix.decode()).strip()
