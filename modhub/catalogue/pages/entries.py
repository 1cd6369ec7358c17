"""The workshop's changelog editor, and the preview."""

from typing import Any

from msgspec import UNSET
from pyramid.response import Response

from modhub.catalogue import services
from modhub.catalogue.owners import caller
from modhub.catalogue.pages.browse import page_reader
from modhub.catalogue.pages.drafts import own_draft, own_notes
from modhub.catalogue.pages.mod import SHOW, page_values
from modhub.catalogue.pages.people import name_authors
from modhub.catalogue.pages.workshop import done, form
from modhub.catalogue.payloads import NoteChange
from modhub.catalogue.resources import Mod, ModPermission, Note
from modhub.interfaces import INote, IOwnMod
from modhub.request import Request
from modhub.views import page


@form(context=INote)
def rewrite(context: Note, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}``: over-long text is cut, nothing is refused."""
    given = NoteChange(request.POST.get("title", UNSET), request.POST.get("text", UNSET))
    services.edit_note(request.dbsession, context.mod.id, context.id, caller(request), given)
    return done(context.mod.id or 0, "note", anchor="#changelog")


@form(context=INote, name="remove")
def remove(context: Note, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/changelog/{noteId}/remove``: its version is free again."""
    services.remove_note(request.dbsession, context.mod.id, context.id, caller(request))
    return done(context.mod.id or 0, "note-removed", anchor="#changelog")


@page(context=IOwnMod, name="preview", request_method="GET", permission=ModPermission.EDIT, renderer=SHOW)
def preview(context: Mod, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}/preview``: the mod's page as visitors will see it."""
    session, owner = request.dbsession, caller(request)
    draft = own_draft(session, context.id, owner)
    notes = own_notes(session, draft.mod.id)
    detail = page_reader(request).preview(draft.as_shown(), owner, notes, draft.sha256)
    name_authors(request, [detail])
    return {**page_values(request, detail), "preview": draft.address}
