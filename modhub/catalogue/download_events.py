"""Tells features that a download began (:class:`modhub.plugins.events.DownloadStarted`)."""

from typing import Final

from pyramid.response import Response

from modhub.base.peers import peer_of_address
from modhub.catalogue.models import AssetKind
from modhub.catalogue.read_service import ModFile
from modhub.plugins.events import DownloadStarted
from modhub.web.request import Request

_SENDS_CONTENT: Final = frozenset({200, 206})


def notify_download(request: Request, mod_file: ModFile, response: Response) -> None:
    """Fire the event if ``response`` has content of the code file, whether we or a proxy will send it."""
    if mod_file.kind != AssetKind.CODE or request.method != "GET" or response.status_int not in _SENDS_CONTENT:
        return
    asked = response.content_range
    caller = peer_of_address(request.environ.get("REMOTE_ADDR") or "")
    request.registry.notify(
        DownloadStarted(
            mod_id=mod_file.mod_id,
            asset_id=mod_file.asset_id,
            version=mod_file.version,
            caller=caller,
            first_byte=asked.start if asked else 0,
            status=response.status_int,
            length=asked.stop - asked.start if asked else mod_file.file.size,
            size=mod_file.file.size,
            registry=request.registry,
        )
    )
