"""A mod that is not public as its page will be: for its owner, and by a service for those who judge it."""

from typing import Any

from msgspec.structs import replace
from pyramid.renderers import render_to_response
from pyramid.response import Response
from sqlalchemy.orm import Session

from modhub.catalogue.owner_queries import read_judged_file, read_mod, read_notes, read_own_image, read_pictures
from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.queries.authors import find_authors
from modhub.catalogue.pages.queries.page_queries import paginate_notes
from modhub.catalogue.pages.views.browse import page_reader
from modhub.catalogue.pages.views.mod import MOD_TEMPLATE, notes_page_number, page_values
from modhub.catalogue.successors import read_successor
from modhub.plugins.services import ModSummary
from modhub.web.downloads import StoredFile
from modhub.web.request import Request


def read_draft(session: Session, mod_id: int | None, owner: int, address: str = "") -> OwnModPresenter:
    """Return the owner's mod, whose images are below ``address``, or in the workshop; 404 if it was deleted."""
    mod = read_mod(session, mod_id, owner)
    return OwnModPresenter(mod, read_pictures(session, [mod]), address)


def preview_values(request: Request, draft: OwnModPresenter, back: str) -> dict[str, Any]:
    """Return the values for the template of a mod's page; ``back`` is the path of the page before."""
    session, mod_id, owner = request.dbsession, draft.mod.id, draft.owner
    notes = [replace(note, text=draft.with_own_images(note.text)) for note in read_notes(session, mod_id, owner)]
    notes_page = paginate_notes(notes, notes_page_number(request))
    shown = page_reader(request).preview(draft, draft.preview_document(), notes_page, draft.sha256)
    author = find_authors(request, [draft]).get(owner)
    _, successor = read_successor(session, mod_id, owner)
    return page_values(request, shown, author, back) | {"successor": successor}


class ModPreviews:
    """See :class:`modhub.plugins.moderation.IModPreviews`."""

    def show_page(self, request: Request, mod: ModSummary, address: str, back: str) -> Response:
        """The owner's preview; its note says who else sees it."""
        draft = read_draft(request.dbsession, mod.id, mod.owner, address)
        values = preview_values(request, draft, back) | {"is_judged": True}
        return render_to_response(MOD_TEMPLATE, values, request=request)

    def find_image(self, session: Session, mod: ModSummary, asset_id: int | None) -> StoredFile:
        """As the workshop shows it."""
        return read_own_image(session, mod.id, asset_id, mod.owner)

    def find_file(self, session: Session, mod: ModSummary, sha256: str) -> StoredFile:
        """The first one with these bytes."""
        return read_judged_file(session, mod.id, sha256)
