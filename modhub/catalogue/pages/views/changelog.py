"""The workshop's changelog editor and preview, and redirects from the addresses of forms."""

from functools import partial
from typing import Any

from msgspec import UNSET
from pyramid.response import Response

from modhub.catalogue import services
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.form_errors import NOTE_FIELDS
from modhub.catalogue.pages.presenters.removed_markup import preview_text
from modhub.catalogue.pages.presenters.steps import NEW_VERSION
from modhub.catalogue.pages.presenters.truncation import truncated_note_fields
from modhub.catalogue.pages.views.files import TYPED_WITH_CODE
from modhub.catalogue.pages.views.mod import MOD_TEMPLATE
from modhub.catalogue.pages.views.previews import preview_values, read_draft
from modhub.catalogue.pages.views.workshop import edit_page_context, form, workshop_done
from modhub.catalogue.request_schemas import NoteChange
from modhub.catalogue.resources import ImageResource, ImagesResource, ModChild, ModPermission, ModResource, NoteResource
from modhub.catalogue.written_texts import write_text
from modhub.content import limits
from modhub.plugins.resources import IImages, IMine, INote, IOwnMod
from modhub.ui.xml_responses import Redirect
from modhub.web.request import Request
from modhub.web.views import page


@form(context=INote, preserve_fields={**NOTE_FIELDS, "format": ""})
def edit_note_page(context: NoteResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/changelog/{noteId}``: too long text is truncated, not rejected."""
    title, typed, chosen = request.POST.get("title"), request.POST.get("text"), request.POST.get("format", "")
    written = None if typed is None else write_text(typed, chosen, limits.NOTE)
    if "preview" in request.POST:
        shown = preview_text(written.uncleaned if written else "", limits.NOTE)
        kept = {context.id: (title or "", typed or "", chosen)}
        previews = {context.id: shown}
        return edit_page_context(request, context.mod.id, "changelog", typed_notes=kept, previews=previews)
    change = NoteChange(UNSET if title is None else title, UNSET if written is None else written.uncleaned)
    cleaned = change.cleaned()
    truncated = truncated_note_fields(change, cleaned, written)
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
    typed = {name: request.POST.get(field, "") for name, field in TYPED_WITH_CODE.items()}
    written = write_text(typed["text"], typed["textFormat"], limits.NOTE)
    previews = {"version": preview_text(written.uncleaned, limits.NOTE)}
    return edit_page_context(request, context.id, NEW_VERSION, typed=typed, previews=previews)


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
@form_address(context=IOwnMod, name="superseded")
@form_address(context=IOwnMod, name="delete")
@form_address(context=IImages)
@form_address(context=IOwnMod, name="image-order")
@form_address(context=ImageResource, name="remove")
@form_address(context=ImageResource, name="move")
@form_address(context=ImageResource, name="caption")
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
