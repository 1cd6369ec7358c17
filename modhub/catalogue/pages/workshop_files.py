"""The workshop's files: streamed uploads by forms."""

import io
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from pyramid.response import Response

from modhub.base.errors import ApiError, invalid
from modhub.catalogue.bodies import CleanedNote, NoteChange
from modhub.catalogue.documents import images_of, is_image_type
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owning import images, services, uploads
from modhub.catalogue.owning.archives import END_BYTES, judge_code
from modhub.catalogue.owning.reads import read_own_image
from modhub.catalogue.owning.texts import (
    WrittenText,
    is_line_truncated,
    preview_text,
    truncated_note_fields,
    write_text,
)
from modhub.catalogue.owning.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.catalogue.owning.views import account_id_of
from modhub.catalogue.pages.mod import MOD_TEMPLATE
from modhub.catalogue.pages.workshop import (
    NOTE_FIELDS,
    edit_page_context,
    field_message,
    field_of,
    form,
    workshop_done,
)
from modhub.catalogue.pages.workshop_details import preview_values, read_draft
from modhub.catalogue.pictures.metadata import read_stored, replace_image
from modhub.catalogue.resources import ImageResource, ImagesResource, ModChild, ModPermission, ModResource, NoteResource
from modhub.content import limits, text
from modhub.content.limits import IMAGE, IMAGES
from modhub.content.text import N_
from modhub.plugins.resources import IAsset, IImages, IMine, INote, IOwnMod
from modhub.plugins.services import ISquarePictures
from modhub.ui import forms
from modhub.ui.form_recovery import json_for_script, wants_json
from modhub.ui.multipart import UploadForm
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import file_response
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.uploads import stage_upload, stage_with_end
from modhub.web.views import page

_PARTS: Final = {AssetKind.CODE: "files", AssetKind.CSS: "publish", AssetKind.IMAGE: "images"}
"""Where the form of a file is."""
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
    """``POST /Modhub/mine/{id}/images``: with the captions of those that are there."""
    return _upload(context.mod, request, AssetKind.IMAGE)


def _upload(context: ModResource, request: Request, kind: AssetKind) -> Any:
    session, owner = request.dbsession, account_id_of(request)
    fields: dict[str, str] = {}
    try:
        upload_form = UploadForm(request, _BODIES[kind], fields)
        version = text.version(fields.get("version"))
        written, note, cut = _read_note(fields)
        staged = _stage_files(request, kind, upload_form, version)
        truncated = _save_captions(request, context.id, fields) if kind is AssetKind.IMAGE else []
        for upload in staged:
            mod = uploads.store_upload(session, context.id, owner, upload)
        if kind is AssetKind.CODE and note.text:
            services.describe_version(session, context.id, version, owner, note, written=written)
    except ApiError as error:
        forms.set_error_status(request, error)
        field, message = field_of(error, kind.value), field_message(request, error)
        if wants_json(request):
            return json_for_script(request, error, message=message, field=field)
        if error.status == 413 and kind is not AssetKind.CSS and not fields:
            # The server has read nothing of so long a form, so the page cannot show what was typed.
            advice = N_("Your browser's Back button usually brings back what you typed.")
            message = f"{message} {translations_for(request).gettext(advice)}"
        return edit_page_context(request, context.id, _PARTS[kind], errors={field: message}, typed=_typed_text(fields))
    if version and is_line_truncated(fields["version"], version):
        truncated.append("version")
    done = "version" if kind is AssetKind.CODE and mod.published and not mod.hidden_at else _done_code(kind, staged)
    # A code file leads on to what is to do next.
    part = "" if kind is AssetKind.CODE else _PARTS[kind]
    return workshop_done(context.id or 0, done, [*truncated, *cut], part)


def _read_note(fields: Mapping[str, str]) -> tuple[WrittenText | None, CleanedNote, list[str]]:
    """Convert and clean the entry that a form has, before the first statement; the fields of which something is cut."""
    written = write_text(fields["text"], fields.get("format", ""), limits.NOTE) if "text" in fields else None
    change = NoteChange(fields.get("title", UNSET), UNSET if written is None else written.uncleaned)
    cleaned = change.cleaned()
    return written, cleaned, truncated_note_fields(change, cleaned, written)


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
    name, content_type = text.file_name(upload_form.file_name, FALLBACKS[kind]), text.content_type(content_type)
    head, kept = upload_form.head, END_BYTES if kind is AssetKind.CODE else 0
    blob, end = stage_with_end(request, upload_form, LIMITS[kind], kept)
    problems = judge_code(head, end, name, content_type) if kind is AssetKind.CODE else None
    return AssetUpload(kind, name, content_type, blob, version, problems, recognized is not None)


@page(context=IAsset, containment=IMine, request_method="GET", permission=ModPermission.EDIT)
def show_image_page(context: ImageResource, request: Request) -> Response:
    """``GET /Modhub/mine/{id}/images/{assetId}``: an image of a draft, for its owner only."""
    file = read_own_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return file_response(request, request.store, file)


def _save_captions(request: Request, mod_id: int | None, fields: Mapping[str, str]) -> list[str]:
    """Set the captions that differ from those that the form was rendered with, so that none of another tab is undone.

    Too long text is cut off, an empty one removes the caption. Returns what to say of it.
    """
    session, owner = request.dbsession, account_id_of(request)
    mod = services.own_mod(session, mod_id, owner)
    typed = {
        image.id: fields[name]
        for image in images_of(mod)
        if (name := f"caption-{image.id}") in fields and fields[name] != fields.get(f"shown-{image.id}")
    }
    images.caption_images(session, mod_id, owner, typed)
    return ["caption"] if any(is_line_truncated(typed[i.id], i.caption) for i in mod.assets if i.id in typed) else []


def _preserved(request: Request) -> dict[str, str]:
    """The fields of all images, and what is done with one."""
    return {name: "" for name in request.POST if name == "order" or name.startswith(("caption-", "shown-"))}


# Each button of the images brings along what is typed into their captions.
image_form = partial(form, context=IAsset, preserve_fields=_preserved)


@image_form(name="remove")
def delete_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/remove``"""
    truncated = _save_captions(request, context.mod.id, request.POST)
    uploads.remove_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return workshop_done(context.mod.id or 0, "image-removed", truncated, "images")


@image_form(name="clean")
def clean_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/clean``: a copy without metadata takes the place of the image."""
    owner = account_id_of(request)
    with request.databases.readonly_session() as session:
        file = read_own_image(session, context.mod.id, context.id, owner)
    content = read_stored(request.store, file.key, file.size, file.sha256)
    stripped = request.find_service(ISquarePictures).copy(io.BytesIO(content))
    # Staged before the first statement: no lock may wait for a slow disk.
    blob = stage_upload(request, io.BytesIO(stripped), IMAGE)
    truncated = _save_captions(request, context.mod.id, request.POST)
    image = replace_image(request.dbsession, context.mod.id, context.id, owner, blob)
    return workshop_done(context.mod.id or 0, "image-cleaned", truncated, "images", f"#image-{image.id}")


@form(context=IOwnMod, name="captions", preserve_fields=_preserved)
def caption_images_page(context: ModResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/captions``: of all images, as ``caption-{assetId}``."""
    truncated = _save_captions(request, context.id, request.POST)
    return workshop_done(context.id or 0, "caption", truncated, "images")


@form(context=IOwnMod, name="image-order", preserve_fields=_preserved)
def order_images_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/image-order``: ``order`` has asset ids, separated by spaces; the others follow."""
    order = [parse_id(word) or 0 for word in request.POST.get("order", "").split()]
    truncated = _save_captions(request, context.id, request.POST)
    images.order_images(request.dbsession, context.id, account_id_of(request), order)
    return workshop_done(context.id or 0, "order", truncated, "images")


@form(context=INote, preserve_fields={**NOTE_FIELDS, "format": ""})
def edit_note_page(context: NoteResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/changelog/{noteId}``: too long text is truncated, not rejected."""
    if "preview" in request.POST:
        return _preview(request, context.mod.id, "changelog", entry=context.id)
    written, cleaned, truncated = _read_note(request.POST)
    services.edit_note(request.dbsession, context.mod.id, context.id, account_id_of(request), cleaned, written=written)
    return workshop_done(context.mod.id or 0, "note", truncated, "changelog", f"#note-{context.id}")


@form(context=INote, name="remove")
def delete_note_page(context: NoteResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}/remove``: its version can be used again."""
    services.remove_note(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return workshop_done(context.mod.id or 0, "note-removed", part="changelog")


@form(
    context=IOwnMod, name="what-changed", preserve_fields={"version": "Version", "text": "What changed", "format": ""}
)
def preview_version_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/what-changed``: the preview of a text that is sent with the next version's file."""
    return _preview(request, context.id, "files")


def _preview(request: Request, mod_id: int | None, part: str, **more: Any) -> dict[str, Any]:
    """The page with what was typed as ``text``, and how it would be shown."""
    typed = _typed_text(request.POST)
    written = write_text(request.POST.get("text", ""), typed["textFormat"], limits.NOTE)
    return edit_page_context(
        request, mod_id, part, typed=typed, preview=preview_text(written.uncleaned, limits.NOTE), **more
    )


def _typed_text(fields: Mapping[str, str]) -> dict[str, str]:
    """What was typed into a form; ``format`` is that of the description on other pages."""
    return dict(fields) | {"textFormat": fields.get("format", "")}


@page(context=IOwnMod, name="preview", request_method="GET", permission=ModPermission.EDIT, renderer=MOD_TEMPLATE)
def preview_page(context: ModResource, request: Request) -> Any:
    """``GET /Modhub/mine/{id}/preview``: the page as visitors will see it; redirects there once the mod is public."""
    draft = read_draft(request.dbsession, context.id, account_id_of(request))
    return Redirect(draft.mod.url) if draft.public else preview_values(request, draft, draft.address)


form_address = partial(page, containment=IMine, request_method="GET", permission=ModPermission.EDIT)


@form_address(context=IOwnMod, name="code")
@form_address(context=IOwnMod, name="what-changed")
@form_address(context=IOwnMod, name="css")
@form_address(context=IOwnMod, name="publish")
@form_address(context=IOwnMod, name="delete")
@form_address(context=IImages)
@form_address(context=IOwnMod, name="captions")
@form_address(context=IOwnMod, name="image-order")
@form_address(context=ImageResource, name="remove")
@form_address(context=ImageResource, name="clean")
@form_address(context=INote)
@form_address(context=INote, name="remove")
def redirect_to_workshop(context: ModResource | ModChild, _request: Request) -> Redirect:
    """``GET`` at the address of a form, which is in the address bar after an error.

    Registered for the class of an image: public files are ``IAsset`` too, but have no children.
    """
    if isinstance(context, ModResource):
        return Redirect(f"/Modhub/mine/{context.id}")
    part = "images" if isinstance(context, ImagesResource | ImageResource) else "changelog"
    return Redirect(f"/Modhub/mine/{context.mod.id}?part={part}")
