"""The bodies of app builds, and the names of operating systems."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from modhub.base.operations import about
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


class VersionDocument(Struct, rename="camel"):
    """One stored build in the list of its operating system."""

    version: Annotated[str, about("Any label, empty when none was given; do not parse it", "1.4")]
    name: Annotated[str, about("The name to save it under", "modhub.zip")]
    bytes: Annotated[int, about("Its size", 18874368)]
    uploaded_at: Annotated[str, about("Time", "2026-11-21T08:15:30.123456Z")]
    url: Annotated[str, about("The permanent address of this build", "/Modhub/app/windows/21")]


class PlatformDocument(Struct, rename="camel"):
    """The newest build of an operating system, and all of them."""

    os: Annotated[
        str,
        about(
            "Its short name. Show `windows`, `linux` and `macos` as Windows, Linux and macOS, others as they are",
            "windows",
        ),
    ]
    version: Annotated[str, about("Any label, empty when none was given; do not parse it", "1.4")]
    name: Annotated[str, about("The name to save it under", "modhub.zip")]
    bytes: Annotated[int, about("Its size", 18874368)]
    uploaded_at: Annotated[str, about("Time", "2026-11-21T08:15:30.123456Z")]
    url: Annotated[str, about("The address that follows the newest build", "/Modhub/app/windows")]
    versions: Annotated[list[VersionDocument], about("All builds of the system, newest first")]


class BuildsDocument(Struct):
    """``GET /api/modhub/app``"""

    builds: Annotated[list[PlatformDocument], about("One entry per operating system")]
    changelog: Annotated[
        str,
        about(
            "All sections as plain text, newest first, a blank line between two. Show it as text, never as markup",
            "1.4\n\nFaster start.",
        ),
    ]


class UploadDocument(Struct):
    """``POST /api/modhub/app/{os}``"""

    os: Annotated[str, about("As in the address", "windows")]
    version: Annotated[str, about("The label as it was stored", "1.4")]
    bytes: Annotated[int, about("What was stored", 18874368)]
    url: Annotated[str, about("The permanent address of this build", "/Modhub/app/windows/21")]
    newest: Annotated[str, about("The address that follows the newest build", "/Modhub/app/windows")]


class PushDocument(Struct):
    """``POST /api/modhub/app/changelog``: the length of the section and of the whole visible changelog."""

    characters: Annotated[int, about("Characters of this section", 18)]
    whole: Annotated[int, about("Characters of the whole changelog that is shown", 39)]


class PopDocument(Struct):
    """``DELETE /api/modhub/app/changelog``: the remaining changelog."""

    changelog: Annotated[str, about("What is left", "1.3\n\nFirst release.")]
    characters: Annotated[int, about("Its characters", 19)]


def newest_url(os: str) -> str:
    """The address that always serves the newest build."""
    return f"/Modhub/app/{os}"


def build_url(os: str, build_id: int) -> str:
    """The permanent address of one build."""
    return f"/Modhub/app/{os}/{build_id}"
