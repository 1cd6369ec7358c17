"""The workshop's files: streamed uploads by forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from modhub.base.errors import ApiError, invalid
from modhub.catalogue import services, uploads
from modhub.catalogue.archives import END_BYTES, judge_archive
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.form_errors import field_message, field_of
from modhub.catalogue.pages.presenters.steps import NEW_VERSION
from modhub.catalogue.pages.presenters.truncation import is_line_truncated, truncated_note_fields
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.request_schemas import CleanedNote, NoteChange
from modhub.catalogue.resources import ModChild, ModResource
from modhub.catalogue.response_schemas import is_image_type
from modhub.catalogue.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.catalogue.written_texts import WrittenText, write_text
from modhub.content import limits, text
from modhub.content.limits import IMAGES
from modhub.content.text import N_
from modhub.plugins.resources import IImages, IOwnMod
from modhub.ui import forms
from modhub.ui.form_recovery import json_for_script, wants_json
from modhub.ui.multipart import UploadForm
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.uploads import stage_with_end

TYPED_WITH_CODE: Final = {"version": "version", "text": "text", "textFormat": "format"}
"""The fields of the form of a code file, by what the page calls what was typed into them."""
_PARTS: Final = {AssetKind.CSS: "files", AssetKind.IMAGE: "images"}
"""Where a form returns to; a code file leads on to what is to do next."""
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
    session, owner = request.dbsession, account_id_of(request)
    fields: dict[str, str] = {}
    try:
        upload_form = UploadForm(request, _BODIES[kind], fields)
        version = text.version(fields.get("version"))
        changes = _Changes.read(fields)
        staged = _stage_files(request, kind, upload_form, version)
        for upload in staged:
            mod = uploads.store_upload(session, context.id, owner, upload)
        if kind is AssetKind.CODE and changes.cleaned.text:
            services.describe_version(session, context.id, version, owner, changes.cleaned, written=changes.written)
    except ApiError as error:
        forms.set_error_status(request, error)
        field, message = field_of(error, kind.value), field_message(request, error)
        if wants_json(request):
            return json_for_script(request, error, message=message, field=field)
        if error.status == 413 and kind is AssetKind.CODE and not fields:
            # The server has read nothing of so long a form, so the page cannot show what was typed.
            advice = N_("Your browser's Back button usually brings back what you typed.")
            message = f"{message} {translations_for(request).gettext(advice)}"
        part = _PARTS.get(kind, NEW_VERSION)
        typed = {name: fields.get(sent, "") for name, sent in TYPED_WITH_CODE.items()} if kind is AssetKind.CODE else {}
        return edit_page_context(request, context.id, part, errors={field: message}, typed=typed)
    truncated = ["version"] if version and is_line_truncated(fields["version"], version) else []
    done = "version" if kind is AssetKind.CODE and mod.published and not mod.hidden_at else _done_code(kind, staged)
    return workshop_done(context.id or 0, done, [*truncated, *changes.truncated], _PARTS.get(kind, ""))


@dataclass(frozen=True, slots=True)
class _Changes:
    """What the form of a code file says about its version."""

    written: WrittenText
    cleaned: CleanedNote
    truncated: list[str]

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> "_Changes":
        """Convert and clean the text, before the first statement."""
        written = write_text(fields.get("text", ""), fields.get("format", ""), limits.NOTE)
        change = NoteChange(text=written.uncleaned)
        cleaned = change.cleaned()
        return cls(written, cleaned, truncated_note_fields(change, cleaned, written))


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
    head, kept = upload_form.head, END_BYTES if kind is AssetKind.CODE else 0
    blob, end = stage_with_end(request, upload_form, LIMITS[kind], kept)
    problems = judge_archive(head, end) if kind is AssetKind.CODE else None
    return AssetUpload(kind, name, text.content_type(content_type), blob, version, problems, recognized is not None)
