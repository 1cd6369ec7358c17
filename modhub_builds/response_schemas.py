"""Response schemas of app builds (C-APP-2, C-APP-5)."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about


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
