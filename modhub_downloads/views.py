"""The counts for programs."""

from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.base.operations import Operation, Refusal
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_downloads.interfaces import IDownloads
from modhub_downloads.read_service import DownloadReader
from modhub_downloads.resources import DownloadsResource
from modhub_downloads.response_schemas import DownloadsDocument, VersionDownloads


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
    mod = context.find_mod(request.dbsession)
    if mod is None:
        raise not_found()
    counts = DownloadReader(request.databases.raw_queries).versions(mod.id)
    versions = [VersionDownloads(count.version, count.downloads) for count in counts]
    total = sum(count.downloads for count in counts)
    return public_json(encode(DownloadsDocument(total, versions)))
