"""Operating systems by their short names (C-APP-5; C-APP-1, C-APP-6)."""

import re
from collections.abc import Mapping
from typing import Final

from modhub_builds import limits

PLATFORM_LABELS: Final = {"windows": "Windows", "linux": "Linux", "macos": "macOS"}
"""The friendly names, in the order of lists; other systems are shown as they are and come behind."""

_MOBILE: Final = {"android": "Android", "ios": "iOS"}
"""Systems of phones and tablets, which a page has no place for until there is a build."""

RESERVED_NAMES: Final = frozenset({"changelog"})
_AGENTS: Final = (
    ("Android", "android"),
    ("iPhone", "ios"),
    ("iPad", "ios"),
    ("iPod", "ios"),
    ("Windows", "windows"),
    ("Macintosh", "macos"),
    ("Linux", "linux"),
)
_OS = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def is_platform(name: str) -> bool:
    """Whether ``name`` is a plausible operating system: words of ``a-z0-9`` joined by single hyphens."""
    return len(name) <= limits.OS and name not in RESERVED_NAMES and _OS.fullmatch(name) is not None


def label(os: str) -> str:
    """What people read."""
    return PLATFORM_LABELS.get(os, os)


def rank(os: str) -> tuple[int, str]:
    """Sorts the known systems first, in their own order, then the others by name."""
    known = list(PLATFORM_LABELS)
    return (known.index(os) if os in PLATFORM_LABELS else len(known), os)


def hinted(headers: Mapping[str, str]) -> str | None:
    """The visitor's own system as far as the browser says it; a hint that orders a page and says what is not there."""
    said = headers.get("Sec-CH-UA-Platform", "").strip().strip('"').lower()
    if said in PLATFORM_LABELS or said in _MOBILE:
        return said
    agent = headers.get("User-Agent", "")
    # What Android says has "Linux" in it, and what iOS says has "Mac OS X".
    return next((os for mark, os in _AGENTS if mark in agent), None)


def hinted_label(os: str) -> str:
    """What people call the system of :func:`hinted`."""
    return _MOBILE.get(os) or label(os)
