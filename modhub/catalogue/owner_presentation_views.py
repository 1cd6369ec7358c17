"""API views for what a mod has beside its fields, as its owner sees and says it.

Files, captions, order of images, successor, changelog.
"""

import re
from typing import Final

from sqlalchemy import select

from modhub.base.errors import invalid
from modhub.base.identity import CredentialKind
from modhub.catalogue import images, presentation_operations
from modhub.catalogue.models import Mod, Note
from modhub.catalogue.owner_queries import read_mod
from modhub.catalogue.owner_response_schemas import FilesDocument, files_document
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.request_schemas import CaptionsChange, OrderChange, SuccessorChange
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.catalogue.response_schemas import (
    CaptionsDocument,
    ModDocument,
    NotesDocument,
    captions_document,
    mod_document,
    note_document,
)
from modhub.catalogue.successors import SupersededDocument, change_successor, find_successor
from modhub.plugins.resources import IMod
from modhub.plugins.services import IMods, ModSummary
from modhub.ui.template_helpers import PageHelpers
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import api

_GUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PATH: Final = re.compile(r"/Modhub/(?:mine/)?([0-9]{1,18})/?(?:[?#]\S*)?")


@api(
    context=IMod,
    name="files",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=presentation_operations.LIST_OWN_FILES,
)
def list_own_files_view(context: ModResource, request: Request) -> FilesDocument:
    """``GET /api/modhub/{id}/files``: with digests, of a draft too, whose files nobody can fetch to compare them."""
    return files_document(read_mod(request.dbsession, context.id, account_id_of(request)))


@api(
    context=IMod,
    name="captions",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=presentation_operations.CHANGE_CAPTIONS,
)
def change_captions_view(context: ModResource, request: Request) -> CaptionsDocument:
    """``PUT /api/modhub/{id}/captions``"""
    captions = read_json(request, CaptionsChange).by_image()
    return captions_document(images.caption_images(request.dbsession, context.id, account_id_of(request), captions))


@api(
    context=IMod,
    name="order",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=presentation_operations.ORDER_IMAGES,
)
def order_images_view(context: ModResource, request: Request) -> ModDocument:
    """``PUT /api/modhub/{id}/order``"""
    asset_ids = read_json(request, OrderChange).asset_ids
    return mod_document(images.order_all_images(request.dbsession, context.id, account_id_of(request), asset_ids))


@api(
    context=IMod,
    name="superseded",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=presentation_operations.CHANGE_SUCCESSOR,
)
def change_successor_view(context: ModResource, request: Request) -> SupersededDocument:
    """``PUT /api/modhub/{id}/superseded``"""
    by = read_json(request, SuccessorChange).by
    # Only null clears it: the empty variable of a script must not.
    guid = "" if by is None else find_guid(request, by.strip() or "-", "by")
    change_successor(request.dbsession, context.id, account_id_of(request), guid)
    return SupersededDocument(find_successor(request.dbsession, context.id))


def find_guid(request: Request, typed: str, field: str) -> str:
    """Return the GUID for a GUID or an address of ours. Somebody else's draft is like a mod that does not exist.

    So are other drafts of the account to a publisher key that is not for them.
    """
    if not typed or _GUID.fullmatch(typed):
        return typed
    path = _PATH.fullmatch(typed.removeprefix(PageHelpers(request).absolute("")))
    mod_id = parse_id(path[1]) if path else None
    mod = request.find_service(IMods).get_mods(request.dbsession, [mod_id or 0]).get(mod_id or 0)
    if mod is None or not (mod.published or _may_know(request, mod)):
        raise invalid("Enter the GUID or the address of a mod on this site, such as /Modhub/12.", field=field)
    return mod.guid


def _may_know(request: Request, mod: ModSummary) -> bool:
    identity = request.identify(CredentialKind.ACCOUNT)
    is_covered = identity.key_scope is None or identity.key_scope.covers(mod.id)
    return mod.owner == identity.account_id and is_covered


@api(
    context=IMod,
    name="notes",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=presentation_operations.LIST_OWN_ENTRIES,
)
def list_own_notes_view(context: ModResource, request: Request) -> NotesDocument:
    """``GET /api/modhub/{id}/notes``: the changelog, of a draft too."""
    own = select(Note).join(Mod, Mod.id == Note.mod_id).where(Mod.owner == account_id_of(request))
    notes = request.dbsession.scalars(own.where(Note.mod_id == context.id).order_by(Note.id.desc())).all()
    return NotesDocument(len(notes), [note_document(note) for note in notes])
