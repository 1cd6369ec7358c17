"""The counts for programs."""

from typing import Annotated

from msgspec import Struct
from pyramid.response import Response

from modhub.base.errors import found
from modhub.base.operations import Operation, Refusal, about
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_downloads.read_service import count_versions
from modhub_downloads.resources import DownloadsResource, IDownloads


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


@api(
    context=IDownloads,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_downloads",
        about="How often a published mod was downloaded, by version.",
        returns=DownloadsDocument,
        refusals=(Refusal(404, "not_found", "No such mod, or it is a draft or hidden."),),
        clauses=("C-DL-1", "C-DL-2", "C-DL-4"),
    ),
)
def read_downloads_view(context: DownloadsResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/downloads``"""
    mod = found(context.find_mod(request.dbsession))
    counts = count_versions(request.databases.raw_queries, mod.id)
    versions = [VersionDownloads(count.version, count.downloads) for count in counts]
    total = sum(count.downloads for count in counts)
    return public_json(encode(DownloadsDocument(total, versions)))
