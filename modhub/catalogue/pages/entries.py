"""The workshop's changelog editor, the preview, and the way back from the addresses of forms."""

from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace
from pyramid.response import Response

from modhub.catalogue import services
from modhub.catalogue.owners import caller, owned
from modhub.catalogue.pages.browse import page_reader
from modhub.catalogue.pages.drafts import Draft
from modhub.catalogue.pages.faults import NOTE
from modhub.catalogue.pages.mod import SHOW, asked_notes, page_values
from modhub.catalogue.pages.people import name_authors
from modhub.catalogue.pages.reading import notes_of
from modhub.catalogue.pages.trimming import note_lost
from modhub.catalogue.pages.workshop import done, form
from modhub.catalogue.payloads import NoteChange
from modhub.catalogue.resources import Image, Mod, ModPermission, Note, Part
from modhub.interfaces import IImages, IMine, INote, IOwnMod
from modhub.pages.answers import Redirect
from modhub.request import Request
from modhub.views import page


@form(context=INote, keeps=NOTE)
def rewrite(context: Note, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}``: over-long text is cut, nothing is refused."""
    title, text = request.POST.get("title"), request.POST.get("text")
    given = NoteChange(UNSET if title is None else title, UNSET if text is None else text)
    cleaned = given.words()
    lost = note_lost(given, cleaned)
    services.edit_note(request.dbsession, context.mod.id, context.id, caller(request), cleaned)
    return done(context.mod.id or 0, "note", lost, "#changelog")


@form(context=INote, name="remove")
def remove(context: Note, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}/remove``: its version is free again."""
    services.remove_note(request.dbsession, context.mod.id, context.id, caller(request))
    return done(context.mod.id or 0, "note-removed", anchor="#changelog")


@page(context=IOwnMod, name="preview", request_method="GET", permission=ModPermission.EDIT, renderer=SHOW)
def preview(context: Mod, request: Request) -> Any:
    """``GET /Modhub/mine/{id}/preview``: the mod's page as visitors will see it; leads to that page where they do."""
    own, owner = owned(request), caller(request)
    draft = Draft(own.one(context.id, owner))
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
@opened(context=Image, name="remove")
@opened(context=INote)
@opened(context=INote, name="remove")
def to_bench(context: Mod | Part, _request: Request) -> Redirect:
    """``GET`` at the address of a form: after a refusal it is in the address bar, and somebody opens it again.

    An image by its class: files for readers are assets as well, and have nothing below them.
    """
    mod = context if isinstance(context, Mod) else context.mod
    return Redirect(f"/Modhub/mine/{mod.id}")
