"""``/Modhub/{id}/everything.zip``: a mod and all that it requires as one archive."""

from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.errors import ApiError, not_found
from modhub.base.peers import peer_of_address
from modhub.catalogue.chain_archives import ChainArchive, read_archive
from modhub.catalogue.download_events import notify_download
from modhub.catalogue.pages.container import PageServices
from modhub.catalogue.public_views import catalogue_reader
from modhub.catalogue.resources import ModResource
from modhub.content.text import N_
from modhub.plugins.resources import IMod
from modhub.web.downloads import REVALIDATE, content_disposition
from modhub.web.large_responses import file_body
from modhub.web.request import Request
from modhub.web.views import OPEN, page

ADDRESS = "everything.zip"


@page(context=IMod, name=ADDRESS, request_method="GET", permission=OPEN)
def everything_page(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/everything.zip``: no ranges, because every archive has its own time of making.

    404 for absent and unpublished mods (C-OWN-9); 409 if it cannot be made; 503 ``busy``.
    """
    try:
        archive = read_archive(catalogue_reader(request), context.id)
    except ApiError as error:
        # Its mods can still be downloaded one by one.
        error.back = f"/Modhub/{context.id}#install", N_("Back to the mod")
        raise
    if archive is None:
        raise not_found()
    headers = _headers(archive)
    # The outermost tween answers 304 for this tag; it must find nothing open.
    is_known = request.known_etag(archive.etag) is not None
    if request.method == "HEAD" or is_known:
        return Response(headerlist=headers, app_iter=[])
    peer = peer_of_address(request.environ.get("REMOTE_ADDR") or "")
    body = request.find_service(PageServices).archive_turns.open(peer, archive, request.store)
    response = Response(headerlist=headers, app_iter=file_body(request.environ, body))
    # One download: the required mods were not asked for (C-DL-1).
    notify_download(request, archive.root.code, response)
    return response


def _headers(archive: ChainArchive) -> list[tuple[str, str]]:
    return [
        ("Content-Type", "application/zip"),
        ("Content-Length", str(archive.size)),
        ("Content-Disposition", content_disposition(f"{archive.root.title}.zip", inline=False)),
        ("ETag", archive.etag),
        ("Cache-Control", REVALIDATE),
        ("Accept-Ranges", "none"),
    ]


def includeme(config: Configurator) -> None:
    """The view is found by the scan of the pages."""
    config.add_cross_origin(f"/Modhub/[0-9]+/{ADDRESS}")
    config.add_robots_rule(f"/Modhub/*/{ADDRESS}")
