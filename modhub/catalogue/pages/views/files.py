"""The workshop's files: streamed uploads by forms."""

from functools import partial
from typing import Any, Final

from modhub.base.errors import ApiError, invalid
from modhub.blobs import stage
from modhub.catalogue import uploads
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.form_errors import field_message, field_of
from modhub.catalogue.pages.presenters.truncation import is_line_truncated
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.resources import ModChild, ModResource
from modhub.catalogue.response_schemas import is_image_type
from modhub.catalogue.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.content import text
from modhub.content.limits import IMAGES
from modhub.http.request import Request
from modhub.interfaces import IImages, IOwnMod
from modhub.ui import forms
from modhub.ui.form_recovery import json_for_script, wants_json
from modhub.ui.multipart import UploadForm

_BODIES: Final = {**LIMITS, AssetKind.IMAGE: IMAGES}
"""Maximum bytes of all files of a form."""
MAX_FILES_AT_ONCE: Final = 20
"""Images per form; each one costs an fsync."""

# UploadForm checks the token, which it reads from the stream.
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
    fields: dict[str, str] = {}
    try:
        upload_form = UploadForm(request, _BODIES[kind], fields)
        version = text.version(fields.get("version"))
        staged = _stage_files(request, kind, upload_form, version)
        for upload in staged:
            uploads.store_upload(request.dbsession, context.id, account_id_of(request), upload)
    except ApiError as error:
        forms.set_error_status(request, error)
        field, message = field_of(error, kind.value), field_message(request, error)
        if wants_json(request):
            return json_for_script(request, error, message=message, field=field)
        return edit_page_context(
            request, context.id, errors={field: message}, typed={"version": fields.get("version", "")}
        )
    truncated = ["version"] if version and is_line_truncated(fields["version"], version) else []
    anchor = "#images" if kind is AssetKind.IMAGE else "#files"
    return workshop_done(context.id or 0, _done_code(kind, staged), truncated, anchor)


def _done_code(kind: AssetKind, staged: list[AssetUpload]) -> str:
    """Return the code of the success message; an upload as image may be of another type."""
    if kind is AssetKind.IMAGE and not all(
        is_image_type(upload.content_type) and upload.is_recognized for upload in staged
    ):
        return "file" if len(staged) == 1 else "files"
    return kind.value if len(staged) == 1 else "images"


def _stage_files(request: Request, kind: AssetKind, upload_form: UploadForm, version: str) -> list[AssetUpload]:
    """Check as the API does, and stage all files before the session's first statement."""
    if kind is AssetKind.CODE and not version:
        raise invalid("A code upload needs a version.", field="version")
    if upload_form.file_name is None:
        raise invalid("Choose a file first.")
    staged = [_stage_file(request, kind, upload_form, version)]
    while kind is AssetKind.IMAGE and upload_form.next_file():
        if len(staged) == MAX_FILES_AT_ONCE:
            raise invalid("At most %(most)s images can be uploaded at once. Nothing was saved.", most=MAX_FILES_AT_ONCE)
        staged.append(_stage_file(request, kind, upload_form, version))
    return staged


def _stage_file(request: Request, kind: AssetKind, upload_form: UploadForm, version: str) -> AssetUpload:
    if not upload_form.head:
        raise invalid("The file is empty.")
    content_type, recognized = upload_form.content_type, text.sniff_image(upload_form.head)
    if kind is AssetKind.IMAGE and (not content_type or content_type == text.OCTET_STREAM):
        content_type = recognized or content_type
    # Read the name and type before the content: they are no longer available after it.
    name = text.file_name(upload_form.file_name, FALLBACKS[kind])
    blob = stage(request.tm, request.store, upload_form, LIMITS[kind])
    return AssetUpload(kind, name, text.content_type(content_type), blob, version, recognized is not None)
