"""API views for what a mod has beside its fields, as its owner sees and says it.

Images and their captions and order, files, successor, changelog; previews of texts, and of the publication.
"""

import re
from typing import Any, Final

import msgspec
from pyramid.response import Response

from modhub.base.errors import invalid
from modhub.base.identity import CredentialKind
from modhub.base.operations import Lead, Operation, Refusal
from modhub.catalogue.bodies import (
    GUID,
    CaptionsChange,
    NoteChange,
    OrderChange,
    SuccessorChange,
    TextPreview,
)
from modhub.catalogue.documents import (
    CaptionsDocument,
    FilesDocument,
    ModDocument,
    NoteDocument,
    NotesDocument,
    PreviewDocument,
    captions_document,
    decode_mod,
    files_document,
    mod_document,
    note_document,
)
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owning import images, services, uploads
from modhub.catalogue.owning.archives import ArchiveProblem
from modhub.catalogue.owning.reads import read_mod, read_notes, read_pictures
from modhub.catalogue.owning.rehearsal import (
    IMAGE_PROBLEMS,
    TEXT_PROBLEMS,
    ImageProblem,
    RehearsalDocument,
    RehearsedSuccessor,
    TextProblem,
    check_draft,
    rehearse_chain,
)
from modhub.catalogue.owning.successors import SupersededDocument, change_successor, read_successor
from modhub.catalogue.owning.texts import find_removed_markup, is_html_truncated, write_text
from modhub.catalogue.owning.views import WRONG_TYPE, account_id_of, readable_mods
from modhub.catalogue.reading.views import catalogue_reader
from modhub.catalogue.resources import ImageResource, ModPermission, ModResource, NoteResource
from modhub.content import limits
from modhub.content.folding import fold_game
from modhub.content.markup import clean
from modhub.plugins.resources import IAsset, IMine, IMod, INote, IOwnMod
from modhub.plugins.services import IMods, IPublicMods, ModSummary
from modhub.ui.template_helpers import PageHelpers
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import api, page


@api(
    context=IAsset,
    request_method="DELETE",
    permission=ModPermission.EDIT,
    operation=Operation(id="delete_image", about="Remove an image.", status=204, clauses=("C-UP-14",)),
)
def delete_image_view(context: ImageResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/images/{assetId}``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return Response(status=204)


@api(
    context=INote,
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="edit_entry",
        about="Change the title or the text of a changelog entry.",
        takes=NoteChange,
        returns=NoteDocument,
        refusals=(WRONG_TYPE,),
        clauses=("C-NOTE-3",),
    ),
)
def edit_note_view(context: NoteResource, request: Request) -> NoteDocument:
    """``PUT /api/modhub/{id}/changelog/{noteId}``"""
    cleaned = read_json(request, NoteChange).cleaned()
    return note_document(
        services.edit_note(request.dbsession, context.mod.id, context.id, account_id_of(request), cleaned)
    )


@api(
    context=INote,
    request_method="DELETE",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="delete_entry",
        about="Remove a changelog entry. Its version can be uploaded again.",
        status=204,
        clauses=("C-NOTE-4",),
    ),
)
def delete_note_view(context: NoteResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/changelog/{noteId}``"""
    services.remove_note(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return Response(status=204)


_PATH: Final = re.compile(r"/Modhub/(?:mine/)?([0-9]{1,18})/?(?:[?#]\S*)?")


@api(
    context=IMod,
    name="files",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="list_own_files",
        about="The files of the owner's mod with their digests, of a draft too.",
        returns=FilesDocument,
        clauses=("C-OWN-40",),
    ),
)
def list_own_files_view(context: ModResource, request: Request) -> FilesDocument:
    """``GET /api/modhub/{id}/files``: with digests, of a draft too, whose files nobody can fetch to compare them."""
    return files_document(read_mod(request.dbsession, context.id, account_id_of(request)))


@api(
    context=IMod,
    name="captions",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="change_captions",
        about="Change the captions of the images that are listed.",
        takes=CaptionsChange,
        returns=CaptionsDocument,
        refusals=(Refusal(400, "invalid_input", "No list, an image listed twice, or not one of this mod."),),
        leads_to=(Lead("delete_image", {"id": "$request.path.id", "assetId": "$response.body#/captions/0/assetId"}),),
        clauses=("C-PIC-9",),
    ),
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
    operation=Operation(
        id="order_images",
        about="Put the images in another order. Each one is listed once.",
        takes=OrderChange,
        returns=ModDocument,
        refusals=(Refusal(400, "invalid_input", "Not each image of the mod once."),),
        clauses=("C-PIC-21",),
    ),
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
    operation=Operation(
        id="change_successor",
        about="Name the mod that supersedes this one, by its GUID or address. null clears it.",
        takes=SuccessorChange,
        returns=SupersededDocument,
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "Neither a GUID nor the address of a mod that is published or yours, or the mod itself.",
            ),
        ),
        clauses=("C-OWN-18",),
    ),
)
def change_successor_view(context: ModResource, request: Request) -> SupersededDocument:
    """``PUT /api/modhub/{id}/superseded``"""
    by = read_json(request, SuccessorChange).by
    # Only null clears it: the empty variable of a script must not.
    guid = "" if by is None else find_guid(request, by.strip() or "-", "by")
    change_successor(request.dbsession, context.id, account_id_of(request), guid)
    return SupersededDocument(read_successor(request.dbsession, context.id, account_id_of(request))[1])


def find_guid(request: Request, typed: str, field: str) -> str:
    """Return the GUID for a GUID or an address of ours."""
    if not typed or GUID.match(typed):
        return typed
    address = match_address(request, typed)
    mod = find_known(request, address[1]) if address else None
    if mod is None:
        raise invalid("Enter the GUID or the address of a mod on this site, such as /Modhub/12.", field=field)
    return mod.guid


def match_address(request: Request, typed: str) -> re.Match[str] | None:
    """Match an address of a mod on this site; the first group is its id."""
    return _PATH.fullmatch(typed.removeprefix(PageHelpers(request).absolute("")))


def find_known(request: Request, segment: str) -> ModSummary | None:
    """Return the mod with this id. Somebody else's draft is like a mod that does not exist.

    So are other drafts of the account to a publisher key that is not for them.
    """
    mod_id = parse_id(segment) or 0
    mod = request.find_service(IMods).get_mods(request.dbsession, [mod_id]).get(mod_id)
    return mod if mod is not None and (mod.published or _may_know(request, mod)) else None


def _may_know(request: Request, mod: ModSummary) -> bool:
    identity = request.identify(CredentialKind.ACCOUNT)
    is_covered = identity.key_scope is None or identity.key_scope.covers(mod.id)
    return mod.owner == identity.account_id and is_covered


@api(
    context=IMod,
    name="notes",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="list_own_entries",
        about="The changelog for the owner, of a draft too.",
        returns=NotesDocument,
        leads_to=tuple(
            Lead(name, {"id": "$request.path.id", "noteId": "$response.body#/notes/0/id"})
            for name in ("edit_entry", "delete_entry")
        ),
        clauses=("C-NOTE-20", "C-NOTE-1"),
    ),
)
def list_own_notes_view(context: ModResource, request: Request) -> NotesDocument:
    """``GET /api/modhub/{id}/notes``: the changelog, of a draft too."""
    notes = read_notes(request.dbsession, context.id, account_id_of(request))
    return NotesDocument(len(notes), notes)


_LIMITS: Final = {"description": limits.DESCRIPTION, "changelog": limits.NOTE}


@api(
    context=IMod,
    name="preview",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="preview_text",
        about="What becomes of a text, as it would be stored. Changes nothing.",
        takes=TextPreview,
        returns=PreviewDocument,
        refusals=(Refusal(400, "invalid_input", "No `text`, or a field of the wrong type."),),
        clauses=("C-OWN-41", "C-TXT-8", "C-TXT-9", "C-TXT-10", "C-TXT-12"),
    ),
)
def preview_view(_context: ModResource, request: Request) -> PreviewDocument:
    """``POST /api/modhub/{id}/preview``: changes nothing."""
    sent = read_json(request, TextPreview)
    limit = _LIMITS[sent.field or "description"]
    written = write_text(sent.text, sent.format or "", limit)
    submitted = written.uncleaned
    cleaned = clean(submitted, limit)
    is_trimmed = written.is_cut or is_html_truncated(submitted, cleaned, limit)
    return PreviewDocument(cleaned, is_trimmed, find_removed_markup(submitted, cleaned))


def rehearse(request: Request, mod_id: int | None) -> RehearsalDocument:
    """Return what visitors would get if the caller's mod were published as it is now."""
    owner = account_id_of(request)
    games = {fold_game(game.name) for game in catalogue_reader(request).games()}
    with request.databases.readonly_session() as session:
        mod, notes = read_mod(session, mod_id, owner), read_notes(session, mod_id, owner)
        own = readable_mods(request, session)
        guid, successor = read_successor(session, mod_id, owner)
        problems = list(check_draft(mod, notes, read_pictures(session, [mod]), games=games))
        code = next((asset for asset in mod.assets if asset.kind == AssetKind.CODE), None)
        archive = msgspec.convert((code and code.archive_problems) or [], list[ArchiveProblem])
    install, missing, unpublished, conflicts = rehearse_chain(request.find_service(IPublicMods), mod, own)
    is_blocked = any(problem.is_blocking for problem in problems)
    texts = dict.fromkeys((found.about, found.problem) for found in problems if found.problem in TEXT_PROBLEMS)
    return RehearsalDocument(
        ready=not (is_blocked or missing or unpublished or conflicts or archive),
        install=install,
        missing=missing,
        unpublished=unpublished,
        conflicts=conflicts,
        trimmed=[found.about for found in problems if found.problem == "trimmed"],
        archive=archive,
        games=[found.name for found in problems if found.problem == "unlisted"],
        texts=[TextProblem(*found) for found in texts],
        images=[
            ImageProblem(found.asset_id, found.name, found.problem)
            for found in problems
            if found.problem in IMAGE_PROBLEMS
        ],
        superseded_by=RehearsedSuccessor(guid, successor is not None) if guid else None,
    )


@api(
    context=IMod,
    name="rehearsal",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="rehearse_mod",
        about="What publishing would show, and what is still missing. Changes nothing.",
        returns=RehearsalDocument,
        schemas=(ModDocument,),
        clauses=("C-OWN-17", "C-PIC-22"),
    ),
)
def rehearsal_view(context: ModResource, request: Request) -> RehearsalDocument:
    """``POST /api/modhub/{id}/rehearsal``: changes nothing."""
    return rehearse(request, context.id)


@page(
    context=IOwnMod,
    containment=IMine,
    name="rehearsal",
    request_method="GET",
    permission=ModPermission.EDIT,
    renderer="modhub.catalogue:templates/workshop/rehearsal.jinja2",
)
def rehearsal_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}/rehearsal``"""
    report = rehearse(request, context.id)
    install = [decode_mod(document) for document in report.install]
    titles = {document.guid.lower(): document.title for document in install}
    return {"report": report, "install": install, "titles": titles, "mod": install[-1]}
