"""The calls for snapshots. All are anonymous."""

from typing import Any

from pyramid.response import Response

from modhub.base.errors import ApiError, not_found
from modhub.content.text import N_
from modhub.web.downloads import file_response
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api, page
from modhub_sync import operations
from modhub_sync.interfaces import ISnapshot, ISnapshotFile
from modhub_sync.resources import SnapshotFileResource
from modhub_sync.response_schemas import PublicKeyDocument
from modhub_sync.snapshot_reader import SnapshotReader


@api(context=ISnapshot, request_method="GET", permission=OPEN, operation=operations.READ_SNAPSHOT)
def read_pointer_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/snapshot``"""
    key = request.registry.settings["modhub_sync.signing_key"]
    pointer = SnapshotReader(request.databases.raw_queries).pointer(key)
    if pointer is None:
        raise ApiError(404, "not_found", N_("There is no snapshot yet. Start with the changes since 0."))
    return public_json(encode(pointer))


@api(context=ISnapshot, name="key", request_method="GET", permission=OPEN, operation=operations.READ_SNAPSHOT_KEY)
def read_public_key_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/snapshot/key``"""
    public = request.registry.settings["modhub_sync.signing_key"].public
    if public is None:
        raise ApiError(404, "not_found", N_("This service does not sign its snapshots."))
    return public_json(encode(PublicKeyDocument("Ed25519", public)))


@page(context=ISnapshotFile, request_method="GET", permission=OPEN, operation=operations.DOWNLOAD_SNAPSHOT)
def download_snapshot_view(context: SnapshotFileResource, request: Request) -> Response:
    """``GET /Modhub/snapshot/{sha256}``"""
    file = SnapshotReader(request.databases.raw_queries).file(context.__name__)
    if file is None:
        raise not_found()
    return file_response(request, request.store, file)
