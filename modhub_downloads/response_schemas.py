"""The JSON of download counts."""

from msgspec import Struct


class VersionDownloads(Struct):
    """The downloads of one version."""

    version: str
    downloads: int


class DownloadsDocument(Struct):
    """``GET /api/modhub/{id}/downloads``; the version that was downloaded first last comes first."""

    total: int
    versions: list[VersionDownloads]
