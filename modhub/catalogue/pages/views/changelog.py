"""The workshop's changelog editor, the preview, and the way back from the addresses of forms."""

from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace
from pyramid.response import Response

from modhub.catalogue import services
from modhub.catalogue.owner_views import account_id_of, owner_reader
from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.presenters.form_errors import NOTE_FIELDS
from modhub.catalogue.pages.presenters.truncation import note_lost
from modhub.catalogue.pages.queries.authors import name_authors
from modhub.catalogue.pages.queries.page_queries import notes_of
from modhub.catalogue.pages.views.browse import page_reader
from modhub.catalogue.pages.views.mod import SHOW, asked_notes, page_values
from modhub.catalogue.pages.views.workshop import form, workshop_done
from modhub.catalogue.request_schemas import NoteChange
from modhub.catalogue.resources import ImageResource, ModChild, ModPermission, ModResource, NoteResource
from modhub.interfaces import IImages, IMine, INote, IOwnMod
from modhub.request import Request
from modhub.ui.xml_responses import Redirect
from modhub.views import page


@form(context=INote, preserve_fields=NOTE_FIELDS)
def edit_note_page(context: NoteResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}``: over-long text is cut, nothing is refused."""
    title, text = request.POST.get("title"), request.POST.get("text")
    given = NoteChange(UNSET if title is None else title, UNSET if text is None else text)
    cleaned = given.words()
    lost = note_lost(given, cleaned)
    services.edit_note(request.dbsession, context.mod.id, context.id, account_id_of(request), cleaned)
    return workshop_done(context.mod.id or 0, "note", lost, "#changelog")


@form(context=INote, name="remove")
def delete_note_page(context: NoteResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}/remove``: its version is free again."""
    services.remove_note(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return workshop_done(context.mod.id or 0, "note-removed", anchor="#changelog")


@page(context=IOwnMod, name="preview", request_method="GET", permission=ModPermission.EDIT, renderer=SHOW)
def preview_page(context: ModResource, request: Request) -> Any:
    """``GET /Modhub/mine/{id}/preview``: the mod's page as visitors will see it; leads to that page where they do."""
    own, owner = owner_reader(request), account_id_of(request)
    draft = OwnModPresenter(own.one(context.id, owner))
    if draft.public:
        return Redirect(draft.mod.url)
    written = own.notes(context.id, owner)
    notes = notes_of([replace(note, text=draft.with_own_images(note.text)) for note in written], asked_notes(request))
    detail = page_reader(request).preview(draft.as_shown(), owner, notes, draft.sha256, draft.odd)
    name_authors(request, [detail])
    return page_values(request, detail, draft.address)


opened = partial(page, containment=IMine, request_method="GET", permission=ModPermission.EDIT)


@opened(context=IOwnMod, name="code")
@opened(context=IOwnMod, name="css")
@opened(context=IOwnMod, name="publish")
@opened(context=IOwnMod, name="delete")
@opened(context=IImages)
@opened(context=ImageResource, name="remove")
@opened(context=INote)
@opened(context=INote, name="remove")
def to_bench(context: ModResource | ModChild, _request: Request) -> Redirect:
    """``GET`` at the address of a form: after a refusal it is in the address bar, and somebody opens it again.

    An image by its class: files for readers are assets as well, and have nothing below them.
    """
    mod = context if isinstance(context, ModResource) else context.mod
    return Redirect(f"/Modhub/mine/{mod.id}")
