"""The JSON of download counts."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about


class VersionDownloads(Struct):
    """The downloads of one version."""

    version: Annotated[str, about("The version", "1.4")]
    downloads: Annotated[int, about("How often it was downloaded", 310)]


class DownloadsDocument(Struct):
    """``GET /api/modhub/{id}/downloads``; the version that was downloaded first last comes first."""

    total: Annotated[int, about("All downloads", 1204)]
    versions: Annotated[
        list[VersionDownloads],
        about("The versions that were downloaded, that whose first download is the most recent first"),
    ]
