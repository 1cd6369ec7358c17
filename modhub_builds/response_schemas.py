"""Response schemas of app builds (C-APP-2, C-APP-5)."""

from msgspec import Struct


class VersionDocument(Struct, rename="camel"):
    """One stored build in the list of its operating system."""

    version: str
    name: str
    bytes: int
    uploaded_at: str
    url: str


class PlatformDocument(Struct, rename="camel"):
    """The newest build of an operating system, and all of them."""

    os: str
    version: str
    name: str
    bytes: int
    uploaded_at: str
    url: str
    versions: list[VersionDocument]


class BuildsDocument(Struct):
    """``GET /api/modhub/app``"""

    builds: list[PlatformDocument]
    changelog: str


class UploadDocument(Struct):
    """``POST /api/modhub/app/{os}``"""

    os: str
    version: str
    bytes: int
    url: str
    newest: str


class PushDocument(Struct):
    """``POST /api/modhub/app/changelog``: the length of the section and of the whole visible changelog."""

    characters: int
    whole: int


class PopDocument(Struct):
    """``DELETE /api/modhub/app/changelog``: the remaining changelog."""

    changelog: str
    characters: int


def newest_url(os: str) -> str:
    """The address that always serves the newest build."""
    return f"/Modhub/app/{os}"


def build_url(os: str, build_id: int) -> str:
    """The permanent address of one build."""
    return f"/Modhub/app/{os}/{build_id}"
