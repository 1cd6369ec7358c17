"""The workshop's files: uploads by forms, streamed into the store; images removed, and shown to their owner."""

from functools import partial
from typing import Any, Final

from pyramid.response import Response

from modhub import text
from modhub.blobs import stage
from modhub.catalogue import uploads
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owner_views import account_id_of, owner_reader
from modhub.catalogue.pages.presenters.form_errors import field_message, field_of
from modhub.catalogue.pages.presenters.truncation import line_lost
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.resources import ImageResource, ModChild, ModPermission, ModResource
from modhub.catalogue.response_schemas import is_picture
from modhub.catalogue.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.downloads import file_response
from modhub.errors import ApiError, invalid
from modhub.interfaces import IAsset, IImages, IMine, IOwnMod
from modhub.limits import IMAGES
from modhub.request import Request
from modhub.ui import forms
from modhub.ui.form_recovery import json_for_script, wants_json
from modhub.ui.multipart import UploadForm
from modhub.views import page

_BODIES: Final = {**LIMITS, AssetKind.IMAGE: IMAGES}
"""Bytes that all files of a form may have."""
MAX_FILES_AT_ONCE: Final = 20
"""Images in one form: each is a file to be synced."""

# The token is read from the stream, by Form.
streamed = partial(form, require_csrf=False)


@streamed(context=IOwnMod, name="code")
def upload_code_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/code``"""
    return _upload(context, request, AssetKind.CODE)


@streamed(context=IOwnMod, name="css")
def upload_css_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/css``"""
    return _upload(context, request, AssetKind.CSS)


@streamed(context=IImages)
def upload_image_page(context: ModChild, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/images``"""
    return _upload(context.mod, request, AssetKind.IMAGE)


def _upload(context: ModResource, request: Request, kind: AssetKind) -> Any:
    typed: dict[str, str] = {}
    try:
        sent = UploadForm(request, _BODIES[kind], typed)
        version = text.version(typed.get("version"))
        given = _staged(request, kind, sent, version)
        for one in given:
            uploads.store_upload(request.dbsession, context.id, account_id_of(request), one)
    except ApiError as refusal:
        forms.set_error_status(request, refusal)
        field, sentence = field_of(refusal, kind.value), field_message(request, refusal)
        if wants_json(request):
            return json_for_script(request, refusal, message=sentence, field=field)
        return edit_page_context(
            request, context.id, errors={field: sentence}, typed={"version": typed.get("version", "")}
        )
    lost = ["version"] if version and line_lost(typed["version"], version) else []
    return workshop_done(context.id or 0, _stored(kind, given), lost, "#files")


def _stored(kind: AssetKind, given: list[AssetUpload]) -> str:
    """What the page then says: not of everything that is sent as an image is it true that it is one."""
    if kind is AssetKind.IMAGE and not all(is_picture(one.content_type) for one in given):
        return "file" if len(given) == 1 else "files"
    return kind.value if len(given) == 1 else "images"


def _staged(request: Request, kind: AssetKind, sent: UploadForm, version: str) -> list[AssetUpload]:
    """The checks of the API; all files are staged before the session's first statement."""
    if kind is AssetKind.CODE and not version:
        raise invalid("A code upload needs a version.", field="version")
    if sent.file_name is None:
        raise invalid("Choose a file first.")
    given = [_one(request, kind, sent, version)]
    while kind is AssetKind.IMAGE and sent.next_file():
        if len(given) == MAX_FILES_AT_ONCE:
            raise invalid("At most %(most)s images can be uploaded at once. Nothing was saved.", most=MAX_FILES_AT_ONCE)
        given.append(_one(request, kind, sent, version))
    return given


def _one(request: Request, kind: AssetKind, sent: UploadForm, version: str) -> AssetUpload:
    if not sent.head:
        raise invalid("The file is empty.")
    shown = sent.content_type
    if kind is AssetKind.IMAGE and (not shown or shown == text.OCTET_STREAM):
        shown = text.sniff_image(sent.head) or shown
    # The name and the type stand before the bytes, and are gone behind them.
    name = text.file_name(sent.file_name, FALLBACKS[kind])
    blob = stage(request.tm, request.store, sent, LIMITS[kind])
    return AssetUpload(kind, name, text.content_type(shown), blob, version)


@page(context=IAsset, containment=IMine, request_method="GET", permission=ModPermission.EDIT)
def show_image_page(context: ImageResource, request: Request) -> Response:
    """``GET /Modhub/mine/{id}/images/{assetId}``: an image of a draft, for its owner alone."""
    file = owner_reader(request).image(context.mod.id, context.id, account_id_of(request))
    return file_response(request, request.store, file)


@form(context=IAsset, name="remove")
def delete_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/remove``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return workshop_done(context.mod.id or 0, "image-removed", anchor="#files")
