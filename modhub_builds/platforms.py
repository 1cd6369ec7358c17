"""Operating systems by their short names (C-APP-5; C-APP-1, C-APP-6)."""

import re
from collections.abc import Mapping
from typing import Final

from modhub_builds import limits

PLATFORM_LABELS: Final = {"windows": "Windows", "linux": "Linux", "macos": "macOS"}
"""Display names, in list order. Other systems follow under their short names."""

_MOBILE: Final = {"android": "Android", "ios": "iOS"}
"""Phone and tablet systems: listed only once there is a build."""

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
    """The display name."""
    return PLATFORM_LABELS.get(os, os)


def rank(os: str) -> tuple[int, str]:
    """Sort key: known systems first, in their own order, then the others by name."""
    names = list(PLATFORM_LABELS)
    return (names.index(os) if os in PLATFORM_LABELS else len(names), os)


def detect_platform(headers: Mapping[str, str]) -> str | None:
    """The visitor's own system, guessed from the browser's headers; only a hint for the page."""
    hint = headers.get("Sec-CH-UA-Platform", "").strip().strip('"').lower()
    if hint in PLATFORM_LABELS or hint in _MOBILE:
        return hint
    agent = headers.get("User-Agent", "")
    # Android's user agent contains "Linux", that of iOS "Mac OS X".
    return next((os for keyword, os in _AGENTS if keyword in agent), None)


def visitor_label(os: str) -> str:
    """The display name of the system that :func:`detect_platform` returned."""
    return _MOBILE.get(os) or label(os)
