"""The workshop's files: uploads by forms, streamed into the store; images removed, and shown to their owner."""

from functools import partial
from typing import Any, Final

from pyramid.response import Response

from modhub import text
from modhub.blobs import stage
from modhub.catalogue import uploads
from modhub.catalogue.models import Kind
from modhub.catalogue.owners import caller
from modhub.catalogue.pages.drafts import own_image
from modhub.catalogue.pages.workshop import bench, done, form
from modhub.catalogue.resources import Image, Mod, ModPermission, Part
from modhub.catalogue.uploads import LIMITS, Upload
from modhub.downloads import StoredFile, file_response
from modhub.errors import Refusal, invalid, not_found
from modhub.interfaces import IAsset, IImages, IMine, IMod
from modhub.pages import forms
from modhub.pages.multipart import Form
from modhub.payload import encode
from modhub.request import Request
from modhub.views import page

_FALLBACKS: Final = {Kind.CODE: "mod.bin", Kind.CSS: "mod.css", Kind.IMAGE: "image"}

# The token is read from the stream, by Form.
streamed = partial(form, require_csrf=False)


@streamed(context=IMod, name="code")
def upload_code(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/code``"""
    return _upload(context, request, Kind.CODE)


@streamed(context=IMod, name="css")
def upload_css(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/css``"""
    return _upload(context, request, Kind.CSS)


@streamed(context=IImages)
def upload_image(context: Part, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/images``"""
    return _upload(context.mod, request, Kind.IMAGE)


def _upload(context: Mod, request: Request, kind: Kind) -> Any:
    version = ""
    try:
        sent = Form(request, LIMITS[kind])
        version = text.version(sent.fields.get("version"))
        _store(context, request, kind, sent, version)
    except Refusal as refusal:
        forms.refused(request, refusal)
        if "application/json" in request.environ.get("HTTP_ACCEPT", ""):
            # The script that shows the progress asks so.
            return Response(encode(refusal.body()), refusal.status, content_type="application/json", charset=None)
        if refusal.code == forms.lapsed().code:
            raise
        return bench(request, context.id, errors={kind.value: refusal}, typed={"version": version})
    return done(context.id or 0, kind.value, anchor="#files")


def _store(context: Mod, request: Request, kind: Kind, sent: Form, version: str) -> None:
    """The checks of the API, the same service functions; the file is staged before the session's first statement."""
    if kind is Kind.CODE and not version:
        raise invalid("A code upload needs a version.")
    if sent.file_name is None:
        raise invalid("Choose a file first.")
    if not sent.head:
        raise invalid("The file is empty.")
    shown = sent.content_type
    if kind is Kind.IMAGE and (not shown or shown == text.OCTET_STREAM):
        shown = text.sniff_image(sent.head) or shown
    blob = stage(request.tm, request.store, sent, LIMITS[kind])
    name = text.file_name(sent.file_name, _FALLBACKS[kind])
    given = Upload(kind, name, text.content_type(shown), blob, version)
    uploads.upload(request.dbsession, context.id, caller(request), given)


@page(context=IAsset, containment=IMine, request_method="GET", permission=ModPermission.EDIT)
def show_image(context: Image, request: Request) -> Response:
    """``GET /Modhub/mine/{id}/images/{assetId}``: an image of a draft, for its owner alone."""
    asset = own_image(request.dbsession, context.mod.id, context.id, caller(request))
    if asset is None:
        raise not_found()
    file = StoredFile(
        key=asset.blob.key,
        size=asset.blob.size,
        sha256=asset.blob.sha256,
        name=asset.name,
        content_type=asset.content_type,
        modified=asset.stored_at,
        inline=asset.content_type.lower().startswith("image/"),
        cache_control="no-store",
    )
    return file_response(request, request.store, file)


@form(context=IAsset, name="remove")
def remove_image(context: Image, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/remove``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, caller(request))
    return done(context.mod.id or 0, "image-removed", anchor="#files")
